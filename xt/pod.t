use strict;
use warnings;
use File::Find 'find';
use FindBin;
use lib "$FindBin::Bin/../t/lib";
use TestArena;
use Pod::Checker;
use Test::More;

# The documentation is well formed, names every public method, and its examples compile.

my $lib = "$FindBin::Bin/../lib";
my @files;
find({ no_chdir => 1, wanted => sub { push @files, $_ if /\.(?:pm|pod)\z/ } }, $lib);

for my $file (sort @files) {
    open my $sink, '>', \my $complaints or die;
    my $checker = Pod::Checker->new(-warnings => 1);
    $checker->parse_from_file($file, $sink);
    is $checker->num_errors, 0, "$file is well formed" or diag $complaints;
}

my %methods = (
    'Shared/Arena.pm'      => [qw(create attach destroy region regions poke peek size created name base refused have_atomics map rate)],
    'Shared/Arena/Map.pm'  => [qw(store fetch exists delete incr counter keys stats max_pair capacity serialised)],
    'Shared/Arena/Rate.pm' => [qw(allow remaining retry_after reset forget stats slots)],
);

for my $file (sort keys %methods) {
    open my $handle, '<', "$lib/$file" or die "$file: $!";
    my $text = do { local $/; <$handle> };
    my %heads = map { $_ => 1 } map { /(\w+)/g } $text =~ /^=(?:head[234]|item)\s+(.*)$/mg;
    my @missing = grep { !$heads{$_} } @{ $methods{$file} };
    is_deeply \@missing, [], "$file documents every method";

    my ($synopsis) = $text =~ /^=head1 SYNOPSIS\n(.*?)^=head1/ms;
    ok defined $synopsis, "$file has a synopsis" or next;
    my $code = join "\n", $synopsis =~ /^([ \t]+.*)$/mg;
    no warnings;
    ok eval "no strict; no warnings; sub { $code\n }; 1", "whose code compiles" or diag $@;
}

done_testing;
