#!/usr/bin/env perl
# One rate limit for a whole pool of workers.
#
#   starman --preload-app --workers 4 --listen 127.0.0.1:5000 eg/starman.psgi
#
# --preload-app matters: the arena below is made once, in the parent, and every worker forked from it shares it. Then:
#
#   curl -i http://127.0.0.1:5000/          greets, with the client's RateLimit-... headers; 429 once they are used up
#   curl http://127.0.0.1:5000/stats        what each worker served, and how many requests were allowed and denied
#
# From a tree that is built but not installed: PERL5LIB=blib/lib:blib/arch starman ...

use strict;
use warnings;

use JSON::PP ();
use Shared::Arena;

my $limit  = $ENV{LIMIT}  || 100;     # requests ...
my $window = $ENV{WINDOW} || 60;      # ... in so many seconds, for each address

my $arena  = Shared::Arena->create(size => 1024 * 1024);
my $rate   = $arena->rate('api', limit => $limit, window => $window);
my $served = $arena->map('served', slots => 256, slot_size => 64);

sub {
    my ($env) = @_;
    return stats() if $env->{PATH_INFO} eq '/stats';

    # A server replaces its workers now and then; the counts of one long gone leave the map after a day.
    $served->incr("worker:$$", 1, ttl => 86_400);

    my $client  = $env->{REMOTE_ADDR};
    my $allowed = $rate->allow($client);
    my %headers = ('Content-Type' => 'text/plain', $rate->headers($client));
    return [429, [%headers], ["Too many requests\n"]] if !$allowed;

    delete $headers{'Retry-After'};     # there after the last request that was allowed
    return [200, [%headers], ["Hello from worker $$\n"]];
};

# What the workers did so far, from any one of them.
sub stats {
    my %worker = map { /^worker:(.*)/ ? ($1 => $served->counter($_)) : () } $served->keys;
    my %rate   = $rate->stats;
    return [200, ['Content-Type' => 'application/json'], [JSON::PP->new->canonical->encode({
        workers => \%worker,
        allowed => $rate{allowed},
        denied  => $rate{denied},
    })]];
}
