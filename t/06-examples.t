use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/lib";
use TestArena;
use File::Temp ();
use Test::More;

# Every example of the documents runs as it stands there, and prints what it says. In the POD an example stands behind
# "=for example run" (or psgi, or mojo: an application, which is sent 150 requests); "# prints ..." is what it prints.

my $top = "$FindBin::Bin/..";

# What drives an application whose limit is 100, in no time at all.
my %driver = (
    run  => '',
    psgi => <<'PSGI',
Shared::Arena::_set_clock(undef, 1000);
my %n; $n{$_->[0]}++ for map { $app->({REMOTE_ADDR => '192.0.2.1'}) } 1 .. 150;
print join(' ', map {"$_:$n{$_}"} sort keys %n), "\n";    # prints 200:100 429:50
PSGI
    mojo => <<'MOJO',
Shared::Arena::_set_clock(undef, 1000);
use Test::Mojo;
my $t = Test::Mojo->new;
my %n; $n{$t->ua->get('/')->res->code}++ for 1 .. 150;
print join(' ', map {"$_:$n{$_}"} sort keys %n), "\n";    # prints 200:100 429:50
MOJO
);

sub lines_of { my ($path) = @_; open my $file, '<', $path or die "$path: $!"; return <$file> }

sub examples_in_pod {
    my ($path) = @_;
    my (@examples, $example);
    for my $line (lines_of($path), "=cut\n") {
        if ($line =~ /^=for example (\w+)/) { push @examples, $example = {kind => $1, code => ''} }
        elsif ($example && $line =~ /^(?:\s|$)/) { $example->{code} .= $line }
        elsif ($example && $example->{code} =~ /\S/) { undef $example }
    }
    my ($name) = $path =~ m{lib/(.*)};
    return map { {%$_, name => "$name, example " . ++$_->{number}} } map { {%{$examples[$_]}, number => $_} } 0 .. $#examples;
}

sub example_in_readme {
    my $text = join '', lines_of("$top/README.md");
    return map { {kind => 'run', code => $_, name => 'README.md'} } $text =~ /^```perl\n(.*?)^```/msg;
}

sub is_missing { my ($kind) = @_; return $kind eq 'mojo' && !eval { require Test::Mojo; 1 } }

my @documents = (glob("$top/lib/Shared/*.pm"), glob("$top/lib/Shared/Arena/*.p[mo]*"));
my @examples  = ((map { examples_in_pod($_) } @documents), example_in_readme());
cmp_ok scalar(@examples), '>=', 7, 'the documents have examples';

local $ENV{MOJO_LOG_LEVEL} = 'fatal';
my @include = map {"-I$_"} grep { !ref } @INC;
for my $example (@examples) {
    SKIP: {
        skip "$example->{name}: no Mojolicious", 1 if is_missing($example->{kind});
        my ($indent) = $example->{code} =~ /^( *)\S/m;
        (my $code = $example->{code}) =~ s/^$indent//mg;
        $code =~ s/^app->start;//m if $example->{kind} eq 'mojo';
        $code .= $driver{$example->{kind}} // die "$example->{name}: no such kind of example";

        my $file = File::Temp->new(SUFFIX => '.pl');
        print $file $code;
        close $file;
        open my $run, '-|', $^X, '-w', @include, "$file" or die "$^X: $!";
        my @printed = <$run>;
        my $status  = close($run) ? 0 : $?;
        my @wanted  = map {"$_\n"} $code =~ /# (?:prints )(.*)$/mg;
        @wanted = map {"$_\n"} $code =~ /# (\d.*)$/mg if $example->{name} eq 'README.md';
        is_deeply [$status, @printed], [0, @wanted], "$example->{name} prints what it says";
    }
}

done_testing;
