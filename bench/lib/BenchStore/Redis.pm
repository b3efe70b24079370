package BenchStore::Redis;

# A Redis server of our own, on a socket in a directory of its own, that keeps nothing on disk. A limit is a script that
# keeps for each key the second at which its bucket is full, as BenchLimiter::Hash does.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchScratch;
use Redis::Fast;
use Time::HiRes qw(sleep);

my ($Version) = map { /v=([0-9.]+)/ ? $1 : () } qx{redis-server --version 2>/dev/null};
die "There is no redis-server\n" if !defined $Version;

my $Limit = <<'LUA';
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local full_at = math.max(now, tonumber(redis.call('GET', KEYS[1]) or 0)) + ARGV[1]
if full_at > now + ARGV[2] then return 0 end
redis.call('SET', KEYS[1], string.format('%.6f', full_at), 'EX', math.ceil(full_at - now))
return 1
LUA

sub name  {'Redis::Fast'}
sub lot   {20}
sub waits {1}
sub used {
    return BenchStore::version('Redis::Fast') . ", redis-server $Version on a Unix socket, without persistence, one"
        . ' command after another; limits are a script, by `evalsha`. Elapsed time, as the server is another process.';
}

sub new {
    my ($class) = @_;
    my $scratch = BenchScratch->new(command => sub {
        my ($directory) = @_;
        return ('redis-server', '--port', 0, '--unixsocket', "$directory/socket", '--save', '', '--appendonly', 'no',
            '--dir', $directory, '--daemonize', 'no');
    });
    my $self = bless { socket => $scratch->directory . '/socket' }, $class;
    for (1 .. 500) { last if -S $self->{socket} && eval { $self->_connect->ping }; sleep 0.01 }
    $self->{limit} = $self->_connect->script_load($Limit);
    return $self;
}

# A connection is for one process.
sub _connect { my ($self) = @_; return Redis::Fast->new(sock => $self->{socket}, encoding => undef) }

sub calls {
    my ($self) = @_;
    my $redis  = $self->_connect;
    my ($value, $limit) = ($BenchStore::Value, $self->{limit});
    my ($yes_window, $no_window) = map { $_->{window} } \%BenchStore::Yes, \%BenchStore::No;
    my ($yes, $no) = ($yes_window / $BenchStore::Yes{limit}, $no_window / $BenchStore::No{limit});    # a request
    my $half = $yes_window / 2;
    return (
        fetch        => sub { my $got; $got = $redis->get($_) for @{ $_[0] }; return $got },
        exists       => sub { $redis->exists($_) || return for @{ $_[0] }; return 1 },
        store        => sub { my $got; ++$value; $got = $redis->set($_, $value) for @{ $_[0] }; return $got },
        store_ttl    => sub { my $got; ++$value; $got = $redis->setex($_, 60, $value) for @{ $_[0] }; return $got },
        incr         => sub { my $got; $got = $redis->incr($_) for @{ $_[0] }; return $got },
        counter      => sub { my $got; $got = $redis->get($_) for @{ $_[0] }; return $got },
        delete_store => sub {
            my $got;
            for (@{ $_[0] }) { $got = $redis->del($_); $got = $redis->set($_, $value) }
            return $got;
        },
        spend => sub { my $got; $got = $redis->evalsha($limit, 1, "yes:$_", $half, $yes_window) for @{ $_[0] }; return $got },
        allow => sub { my $got; $got = $redis->evalsha($limit, 1, "yes:$_", $yes,  $yes_window) for @{ $_[0] }; return $got },
        deny  => sub { my $got; $got = $redis->evalsha($limit, 1, "no:$_",  $no,   $no_window) for @{ $_[0] }; return $got },
        mix   => sub {
            my $got;
            my $turn = 0;
            ++$value;
            for (@{ $_[0] }) { $got = ++$turn % 10 ? $redis->get($_) : $redis->set($_, $value) }
            return $got;
        },
    );
}

1;
