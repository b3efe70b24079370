#!/usr/bin/env perl
# The second half of script/demo: starts eg/starman.psgi under a real Starman, sends it requests from several client
# processes, and prints what came of them. Everything is counted twice, by the clients and in the shared memory; the
# exit status is 0 only when every count is exactly right.

use strict;
use warnings;

use File::Temp ();
use HTTP::Tiny;
use IO::Socket::INET;
use JSON::PP ();
use POSIX ();
use Time::HiRes qw(sleep time);

use Shared::Arena;

my $limit    = 100;
my $window   = 86_400;       # a day, so that nothing worth counting comes back during the run
my $workers  = 4;
my $clients  = 8;
my $requests = 400;

$| = 1;
my $main = $$;
my ($server, @children);
my $log = File::Temp->new;      # what Starman says; shown only if it does not start

$SIG{$_} = sub { print "\nStopped.\n"; exit 130 } for qw(INT TERM HUP);
END { clean_up() if $$ == $main }

my $url = start_server();
print "Starman runs $workers workers on $url; one client address may make $limit requests a day.\n";
print "$clients client processes send $requests requests ...\n\n";

my $begin = time;
my $seen  = send_requests();
my $took  = time - $begin;
my $told  = decode(get("$url/stats")->{content});
stop_server();
print_table($seen, $told, $took);

my @wrong = verdict($seen, $told);
print map {"WRONG: $_\n"} @wrong;
print @wrong ? "\n" : "Exactly $limit were allowed, whichever worker was asked.\n";
exit(@wrong ? 1 : 0);

# --- the server ---

sub start_server {
    my $starman = find_program('starman');
    for (1 .. 3) {
        my $port = free_port();
        $server = start_child(sub {
            POSIX::setsid();
            @ENV{qw(LIMIT WINDOW)} = ($limit, $window);
            open STDIN,  '<',  '/dev/null' or die "Cannot open /dev/null: $!\n";
            open STDOUT, '>&', $log        or die "Cannot redirect: $!\n";
            open STDERR, '>&', $log        or die "Cannot redirect: $!\n";
            exec $^X, (map {"-I$_"} qw(blib/lib blib/arch)), $starman, '--preload-app',
                '--workers' => $workers, '--listen' => "127.0.0.1:$port", 'eg/starman.psgi'
                or die "Cannot run starman: $!\n";
        });
        my $url = "http://127.0.0.1:$port";
        my $deadline = time + 30;
        while (time < $deadline) {
            return $url if get("$url/stats")->{status} == 200;
            last if waitpid($server, POSIX::WNOHANG()) == $server;     # somebody took the port first
            sleep 0.05;
        }
        stop_server();
    }
    seek $log, 0, 0;
    die "Starman did not start; it said:\n", <$log>;
}

# Politely, then for certain: the server leads a process group of its own, with its workers in it. What is left of
# them a second later is init's to collect.
sub stop_server {
    my $pid = $server or return;
    undef $server;
    kill TERM => $pid;
    wait_until(5, sub { waitpid($pid, POSIX::WNOHANG()) == $pid });
    kill KILL => -$pid;
    waitpid $pid, 0;
    wait_until(1, sub { !kill 0 => -$pid });
}

sub wait_until {
    my ($seconds, $code) = @_;
    my $deadline = time + $seconds;
    sleep 0.01 while !$code->() && time < $deadline;
}

sub clean_up {
    local ($?, $!);
    kill KILL => @children if @children;
    stop_server();
}

sub free_port {
    my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1)
        or die "No free port: $@\n";
    return $socket->sockport;
}

sub find_program {
    my ($name) = @_;
    for my $folder (split /:/, $ENV{PATH}) {
        return "$folder/$name" if -x "$folder/$name" && !-d _;
    }
    die "No $name in PATH.\n";
}

# --- the clients ---

# Every client sends its share and reports as JSON what it saw.
sub send_requests {
    my @reports = in_children($clients, sub {
        my %seen = (allowed => 0, refused => 0, problems => []);
        for (1 .. $requests / $clients) {
            my $answer  = get($url);
            my $problem = look_at($answer, \%seen);
            push @{$seen{problems}}, $problem if defined $problem;
        }
        return JSON::PP->new->encode(\%seen);
    });
    my %sum = (allowed => 0, refused => 0, problems => []);
    for my $report (map { decode($_) } @reports) {
        $sum{$_} += $report->{$_} for qw(allowed refused);
        push @{$sum{problems}}, @{$report->{problems}};
    }
    return \%sum;
}

sub look_at {
    my ($answer, $seen) = @_;
    my ($status, $headers) = @$answer{qw(status headers)};
    return "status $status: $answer->{content}" unless $status == 200 || $status == 429;
    $seen->{$status == 200 ? 'allowed' : 'refused'}++;

    my %wanted = (
        'ratelimit-limit'     => qr/^$limit$/,
        'ratelimit-remaining' => $status == 429 ? qr/^0$/ : qr/^[0-9]+$/,
        'ratelimit-reset'     => qr/^[1-9][0-9]*$/,
        $status == 429 ? ('retry-after' => qr/^[1-9][0-9]*$/) : (),
    );
    for my $name (sort keys %wanted) {
        my $value = $headers->{$name} // 'none';
        return "a $status with $name: $value" if $value !~ $wanted{$name};
    }
    return;
}

# A connection each, so that any worker may get any request.
sub get {
    my ($where) = @_;
    return HTTP::Tiny->new(timeout => 30, keep_alive => 0, proxy => undef, http_proxy => undef)->get($where);
}

sub decode { JSON::PP->new->decode($_[0]) }

# --- the cost of one check ---

# Microseconds a check, over all of so many processes that start together and share one bucket.
sub time_per_check {
    my ($processes) = @_;
    my $arena = Shared::Arena->create(size => 1024 * 1024);
    my $rate  = $arena->rate('timing', limit => 1e9, window => 1);
    my $each  = 400_000 / $processes;
    pipe my $wait, my $go or die "No pipe: $!\n";
    my $started;
    in_children($processes, sub {
        close $go;
        sysread $wait, my $nothing, 1;
        $rate->allow('127.0.0.1') for 1 .. $each;
        return '';
    }, sub { $started = time; close $go });
    return (time - $started) / ($each * $processes) * 1e6;
}

# --- processes ---

# Runs the code in so many children at once; each one's return value comes back as a string.
sub in_children {
    my ($count, $code, $all_started) = @_;
    my (@pids, @pipes);
    for (1 .. $count) {
        pipe my $read, my $write or die "No pipe: $!\n";
        push @pids, start_child(sub {
            close $read;
            print {$write} $code->();
            close $write or die "Cannot report: $!\n";
        });
        close $write;
        push @pipes, $read;
    }
    push @children, @pids;
    $all_started->() if $all_started;
    my @output = map { my $pipe = $_; local $/; scalar <$pipe> // '' } @pipes;
    for my $pid (@pids) {
        waitpid $pid, 0;
        die "A child process failed.\n" if $?;
    }
    @children = ();
    return @output;
}

# The child never returns into the program above, whatever happens to it.
sub start_child {
    my ($code) = @_;
    my $pid = fork;
    die "Cannot fork: $!\n" unless defined $pid;
    return $pid if $pid;
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
    my $ok = eval { $code->(); 1 };
    print STDERR $@ unless $ok;
    POSIX::_exit($ok ? 0 : 1);
}

# --- the result ---

sub print_table {
    my ($seen, $told, $took) = @_;
    my $row = "  %-18s %8s   %s\n";
    my %served = %{$told->{workers}};
    printf $row, "worker $_", $served{$_}, 'requests served' for sort { $a <=> $b } keys %served;
    printf $row, 'allowed', $seen->{allowed}, "200, of $requests";
    printf $row, 'refused', $seen->{refused}, '429, with Retry-After and RateLimit-Limit, -Remaining, -Reset';
    printf $row, 'requests a second', sprintf('%.0f', $requests / $took), 'through HTTP, a connection each';
    printf $row, 'one check', sprintf('%.2f', time_per_check(1)), 'microseconds, in one process';
    printf $row, '', sprintf('%.2f', time_per_check(4)), 'microseconds, in 4 processes that share one bucket';
    print "\n";
}

sub verdict {
    my ($seen, $told) = @_;
    my $served = 0;
    $served += $_ for values %{$told->{workers}};
    my @counts = (
        ['allowed, as the clients saw it', $seen->{allowed},  $limit],
        ['refused, as the clients saw it', $seen->{refused},  $requests - $limit],
        ['allowed, as the limiter says',   $told->{allowed},  $limit],
        ['refused, as the limiter says',   $told->{denied},   $requests - $limit],
        ['served, by all workers',         $served,           $requests],
    );
    my @wrong = map { $_->[1] == $_->[2] ? () : "$_->[0]: $_->[1] instead of $_->[2]" } @counts;
    my %problem = map { $_ => 1 } @{$seen->{problems}};
    return @wrong, sort keys %problem;
}
