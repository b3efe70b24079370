#!/usr/bin/env perl
# One rate limit for a whole pool of workers, under Mojolicious.
#
#   hypnotoad eg/mojo.pl                    starts it on port 8080, and again: a hot deploy
#   hypnotoad -s eg/mojo.pl                 stops it
#   perl eg/mojo.pl daemon                  one process on port 3000, for trying it
#
#   curl -i http://127.0.0.1:8080/          greets, with the client's RateLimit-... headers; 429 once they are used up
#   curl http://127.0.0.1:8080/stats        what each worker served, and how many requests were allowed and denied
#
# From a tree that is built but not installed: PERL5LIB=blib/lib:blib/arch hypnotoad eg/mojo.pl
#
# The arena has a name, so the processes of a hot deploy find the counts where the old ones left them. It stays until
# the machine restarts or somebody says:
#
#   perl -MShared::Arena -e 'print Shared::Arena->destroy("eg-mojo") ? "removed\n" : "this user has no such arena\n"'

use Mojolicious::Lite -signatures;
use Shared::Arena;

my $limit  = $ENV{LIMIT}  || 100;     # requests ...
my $window = $ENV{WINDOW} || 60;      # ... in so many seconds, for each address

app->config(hypnotoad => {
    listen  => [$ENV{LISTEN} || 'http://127.0.0.1:8080'],
    workers => $ENV{WORKERS} || 4,
    ($ENV{PIDFILE} ? (pid_file => $ENV{PIDFILE}) : ()),
});

my $arena  = Shared::Arena->create(name => $ENV{ARENA} || 'eg-mojo', size => 1024 * 1024);
my $rate   = $arena->rate('api', limit => $limit, window => $window);
my $served = $arena->map('served', slots => 256, slot_size => 64);

get '/' => sub ($c) {
    # A server replaces its workers now and then; the counts of one long gone leave the map after a day.
    $served->incr("worker:$$", 1, ttl => 86_400);

    my $client  = $c->tx->remote_address;
    my $allowed = $rate->allow($client);
    my %headers = $rate->headers($client);
    delete $headers{'Retry-After'} if $allowed;     # there after the last request that was allowed
    $c->res->headers->header($_ => $headers{$_}) for keys %headers;

    return $c->render(text => "Hello from worker $$\n") if $allowed;
    $c->render(status => 429, text => "Too many requests\n");
};

# What the workers did so far, from any one of them.
get '/stats' => sub ($c) {
    my %worker = map { /^worker:(.*)/ ? ($1 => $served->counter($_)) : () } $served->keys;
    my %rate   = $rate->stats;
    $c->render(json => {workers => \%worker, allowed => $rate{allowed}, denied => $rate{denied}});
};

app->start;
