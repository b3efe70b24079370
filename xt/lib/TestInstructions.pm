package TestInstructions;

# Counts the instructions that calls execute, with valgrind's callgrind: a figure that no load of the machine changes.
# calls-to-count.pl makes the calls. It makes each N times and then 2N times, and the difference is N calls without
# whatever surrounds them. Callgrind says which function executed an instruction; functions are grouped into steps.

use strict;
use warnings;

use Config;
use Exporter 'import';
use File::Basename qw(basename);
use File::Spec;
use File::Temp ();
use FindBin;
use POSIX ();
use TestArena;

our @EXPORT = qw(
    @steps @ways
    cannot_count machine count_calls by_step least_of total
    read_figures figures_text table fill_in
);

# In the order in which a call comes to them.
our @steps = ('statement', 'perl', 'call site', 'core', 'libc', 'assignment');

# With the call sites rewritten, and as perl itself calls a method.
our @ways = ('site', 'method');

my $root = "$FindBin::Bin/..";

# --- what can be compared ---

# Why there is nothing to count with, if so.
sub cannot_count {
    return 'there is no valgrind' if !defined line_of('valgrind', '--version');
    return 'built with failpoints' if Shared::Arena::_failpoints();
    return;
}

# All that other figures can come from, apart from the project.
sub machine {
    my $stamp = -e "$root/xs/build.stamp" ? read_file("$root/xs/build.stamp") : '';
    my ($rust) = $stamp =~ /^rust: (.*)/m;
    my ($processor) = read_file('/proc/cpuinfo') =~ /^model name\s*: (.*)/m;
    return (
        ['perl',       "$Config{version} $Config{archname}"],
        ['rustc',      $rust // 'unknown'],
        ['cc',         line_of(split(' ', $Config{cc}), '--version') // 'unknown'],
        ['C library',  line_of('getconf', 'GNU_LIBC_VERSION') // 'unknown'],
        ['valgrind',   line_of('valgrind', '--version') // 'none'],
        ['processor',  $processor // 'unknown'],
    );
}

# The first line a command prints, if it can be run.
sub line_of {
    my @command = @_;
    my $pid = open my $out, '-|';
    die "fork: $!" if !defined $pid;
    if (!$pid) {
        open STDERR, '>', File::Spec->devnull;
        no warnings 'exec';
        exec {$command[0]} @command or POSIX::_exit(127);
    }
    my ($line) = <$out>;
    close $out or return;
    chomp $line if defined $line;
    return $line;
}

# --- counting ---

# Runs the calls one way. Returns for each, in order, its name and the instructions of one call by step, or by what `key`
# makes of object file, function and address in that file. `blib` is another build than that on @INC.
sub count_calls {
    my ($way, %option) = @_;
    my $times = 640;
    my $folder = File::Temp->newdir;
    local %ENV = (%ENV, PERL_HASH_SEED => 0, PERL_PERTURB_KEYS => 0, SHARED_ARENA_NO_XOP => $way eq 'method' ? 1 : 0);
    delete @ENV{qw(PERL5OPT PERL5DB LD_BIND_NOW)};
    my @include = $option{blib} ? map {"$option{blib}/$_"} qw(lib arch) : map { File::Spec->rel2abs($_) } grep { !ref } @INC;
    my $pid = open my $out, '-|';
    die "fork: $!" if !defined $pid;
    if (!$pid) {
        exec qw(valgrind -q --tool=callgrind --demangle=no --compress-pos=no --dump-before=Perl_pp_getppid),
            ($option{key} ? qw(--dump-instr=yes --dump-line=no) : ()), "--callgrind-out-file=$folder/part",
            $^X, (map {"-I$_"} @include), "$root/xt/lib/calls-to-count.pl", $times
            or POSIX::_exit(127);
    }
    chomp(my @names = <$out>);
    close $out or die "callgrind failed\n";

    my $key = $option{key} || \&step_of;
    my @counts;
    for my $number (0 .. $#names) {
        # The first of three parts is what came before.
        my ($once, $twice) = map { part("$folder/part." . (3 * $number + $_), $key) } 2, 3;
        my %count = map { $_ => (($twice->{$_} || 0) - ($once->{$_} || 0)) / $times } keys %$once, keys %$twice;
        push @counts, [$names[$number], \%count];
    }
    return @counts;
}

# What callgrind wrote between two marks. Names are written out once a file, and numbered; the line behind `calls=` has
# the cost of the function that was called, which has lines of its own too.
sub part {
    my ($path, $key) = @_;
    open my $file, '<', $path or die "callgrind saw no marks: it knows too little of this perl\n";
    my (%count, %name, $object, $function);
    my $skip = 0;
    while (my $line = <$file>) {
        if ($line =~ /^(c?)(ob|fn)=\((\d+)\)(?: (.*))?/) {
            $name{$2}{$3} = $4 if defined $4;
            next if $1;
            ($2 eq 'ob' ? $object : $function) = $name{$2}{$3};
        }
        elsif ($line =~ /^calls=/) { $skip = 1 }
        elsif ($line =~ /^(\w+) (\d+)$/) {
            if ($skip) { $skip = 0; next }
            $count{ $key->($object, $function, $1) } += $2;
        }
    }
    return \%count;
}

# Which step a function belongs to.
sub step_of {
    my ($object, $function) = @_;
    $object = basename($object);
    $function =~ s/\..*//;    # what a compiler made of it
    if ($object eq 'Arena.so') {
        # Rust's names and those of its runtime begin with `_`, but for some of its arithmetic.
        return $function =~ /^(?:_|sa_|(?:trunc|floor|ceil|fmod|mem[a-z]+)$)/ ? 'core' : 'call site';
    }
    return 'libc' if $object ne basename($^X) && $object !~ /^libperl/;
    return 'assignment' if $function =~ /^Perl_(?:pp_sassign|pp_padsv_store|sv_setsv_flags)$/;
    return 'statement'
        if $function =~ /^Perl_(?:runops_standard|pp_(?:iter|enteriter|unstack|leaveloop|and|nextstate|padsv|pushmark|const))$/;
    return 'perl';
}

# The counts by step, whole.
sub by_step {
    my @counts = @_;
    return map { my ($name, $count) = @$_; [$name, { map { $_ => int(($count->{$_} || 0) + 0.5) } @steps }] } @counts;
}

# The run that took least, call by call: keys lie elsewhere each time, and few lie in each other's way.
sub least_of {
    my ($first, @others) = @_;
    return map {
        my $number = $_;
        my ($least) = sort { total($a->[1]) <=> total($b->[1]) } map { $_->[$number] } $first, @others;
        $least;
    } 0 .. $#$first;
}

sub total { my ($count) = @_; my $sum = 0; $sum += $_ for values %$count; return $sum }

# --- the file ---

# What it was counted with, and the figures: by call, way and step.
sub read_figures {
    my ($path) = @_;
    my (%machine, %figures, @columns);
    for my $line (split /\n/, read_file($path)) {
        if    ($line =~ /^# ([^\t]+)\t(.*)/) { $machine{$1} = $2 }
        elsif ($line =~ /^#/)                { next }
        elsif (!@columns)                    { (undef, undef, @columns) = split /\t/, $line }
        else { my ($call, $way, @counts) = split /\t/, $line; @{ $figures{$call}{$way} }{@columns} = @counts }
    }
    return (\%machine, \%figures);
}

# The same as text, from the counts of each way.
sub figures_text {
    my (%counts) = @_;
    my $text = "# Instructions of one call, by step; xt/instructions.t --write makes this file. Counted with:\n";
    $text .= "# $_->[0]\t$_->[1]\n" for machine();
    $text .= join("\t", 'call', 'way', @steps) . "\n";
    for my $number (0 .. $#{ $counts{site} }) {
        for my $way (@ways) {
            my ($name, $count) = @{ $counts{$way}[$number] };
            $text .= join("\t", $name, $way, @{$count}{@steps}) . "\n";
        }
    }
    return $text;
}

# --- the document ---

# The same as a Markdown table, with sums.
sub table {
    my (%counts) = @_;
    my $text = join(' | ', '| call', @steps, 'sum', 'sum, as a method |') . "\n" . '|--' . '|--:' x (@steps + 2) . "|\n";
    for my $number (0 .. $#{ $counts{site} }) {
        my ($name, $count) = @{ $counts{site}[$number] };
        my @cells = (@{$count}{@steps}, total($count), total($counts{method}[$number][1]));
        $text .= join(' | ', "| $name", map { $_ ? grouped($_) : '' } @cells) . " |\n";
    }
    return $text;
}

# 1,234 for 1234.
sub grouped { my ($number) = @_; 1 while $number =~ s/^(\d+)(\d{3})/$1,$2/; return $number }

# Puts a text between the marks of this name in ARCHITECTURE.md.
sub fill_in {
    my ($name, $table) = @_;
    my $path = "$root/ARCHITECTURE.md";
    my $text = read_file($path);
    my ($begin, $end) = map {"<!-- $_ $name -->\n"} qw(begin end);
    $text =~ s/(\Q$begin\E).*(\Q$end\E)/$1\n$table\n$2/s or die "$path has no place for $name\n";
    open my $file, '>', $path or die "Cannot write $path: $!\n";
    print {$file} $text;
    close $file or die "Cannot write $path: $!\n";
    return;
}

1;
