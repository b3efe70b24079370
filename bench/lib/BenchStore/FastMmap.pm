package BenchStore::FastMmap;

# Cache::FastMmap: a cache in a mapped file, whose pages are locked with fcntl.

use strict;
use warnings;

use parent -norequire, 'BenchStore';

use BenchScratch;
use Cache::FastMmap;

sub name {'Cache::FastMmap'}
sub lot  {100}
sub used {
    return BenchStore::version('Cache::FastMmap') . ', in a memory file system, without a serializer but for'
        . ' structures (Storable); `incr` by `get_and_set`.';
}

sub new {
    my ($class)   = @_;
    my $directory = BenchScratch->new->directory;
    my @common    = (init_file => 1, cache_size => '2m', unlink_on_exit => 0);
    return bless {
        cache      => Cache::FastMmap->new(@common, share_file => "$directory/bytes", serializer => ''),
        structures => Cache::FastMmap->new(@common, share_file => "$directory/structures"),
    }, $class;
}

sub calls {
    my ($self) = @_;
    my ($cache, $structures) = @$self{qw(cache structures)};
    my ($value, $record) = ($BenchStore::Value, {%BenchStore::Record});
    my $one_more = sub { return ($_[1] || 0) + 1 };
    return (
        fetch     => sub { my $got; $got = $cache->get($_) for @{ $_[0] }; return $got },
        store     => sub { my $got; ++$value; $got = $cache->set($_, $value) for @{ $_[0] }; return $got },
        store_ttl => sub { my $got; ++$value; $got = $cache->set($_, $value, { expire_time => 60 }) for @{ $_[0] }; return $got },
        incr      => sub { my $got; $got = $cache->get_and_set($_, $one_more) for @{ $_[0] }; return $got },
        counter   => sub { my $got; $got = $cache->get($_) for @{ $_[0] }; return $got },
        delete_store => sub {
            my $got;
            for (@{ $_[0] }) { $got = $cache->remove($_); $got = $cache->set($_, $value) }
            return $got;
        },
        store_record => sub { my $got; $got = $structures->set($_, $record) for @{ $_[0] }; return $got },
        fetch_record => sub { my $got; $got = $structures->get($_) for @{ $_[0] }; return $got },
        mix          => sub {
            my $got;
            my $turn = 0;
            ++$value;
            for (@{ $_[0] }) { $got = ++$turn % 10 ? $cache->get($_) : $cache->set($_, $value) }
            return $got;
        },
    );
}

1;
