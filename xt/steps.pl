#!/usr/bin/env perl
# What the steps of a call cost, in instructions, for the table in ARCHITECTURE.md.
#
#   perl xt/steps.pl [--print]
#
# The compilers put a call's functions into one another, and only what they write for debuggers tells which instruction
# came from which. So this builds the project once more, with that (half a minute; the code is the same), and asks
# addr2line about every address that callgrind counted. With --print the table is printed and not put into its place.

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t/lib", "$FindBin::Bin/lib";
use TestArena;
use TestInstructions;

use Cwd qw(getcwd);
use ExtUtils::Manifest qw(maniread manicopy);
use File::Temp ();

my @calls = ('fetch, there', 'fetch, not there', 'store over', 'incr', 'counter', 'allow, yes', 'allow, no');

# In order: the step, and the functions that are it, with all that is inside them unless that is a step of its own.
# perl's own are grouped already.
my @steps_of_a_call = (
    ['perl: the loop, the variables, a mark on the stack' => undef, 'statement', 'perl'],
    ['is it an object, and of this very class'    => qr/\bTHX_is_on_our_object$/],
    ['the guard: does the call lead to our XSUB'  => qr/\bTHX_leads_to_us$/],
    ['the arguments: how many, is the key bytes'  => qr/\b(?:THX_is_quick|is_bytes|is_addend)$/],
    ['the handle'                                 => qr/\bhandle_(?:of|is_serialised)$/],
    ["the op's own scalar: room, and the answer"  => qr/\b(?:has_short_room|finish_short|THX_set_[in]v)$/],
    ['the answer onto the stack'                  => qr/\bTHX_(?:quick|callsite)_answer$/],
    ['else of the op, mostly its registers'       => qr/\bTHX_/],
    ['from C to Rust and back'                    => qr/^sa_|^shared_arena_capi::/],
    ['the hash of the key'                        => qr/^shared_arena::hash::|\bMap::hash$/],
    ['the group: where, and its words at once'    => qr/^<?shared_arena::(?:map|sync)::lanes::|\bMap>::(?:home|reach)$/],
    ['the entry: word, buffer, sequence, lengths' => qr/\bMap>::look$|\bBuffer::(?:sequence|facts|deadline)$/],
    ['the key compared'                           => qr/\bBuffer::has_key$/],
    ['the value read'                             => qr/\bBuffer::copy_value$|::Reading>::read$/],
    ['is all as it was'                           => qr/\bBuffer::unchanged$/],
    ['the number, by compare-and-swap'            => qr/\bBuffer::count$|\bPair::compare_exchange$/],
    ['the lock, taken and given back'             => qr/^<?shared_arena::(?:lock|process|patience)::|turn_at_once$/],
    ['the spare buffer filled'                    => qr/\bBuffer::fill$|\bTurn>::fill_spare$/],
    ['the journal, and the word'                  => qr/^<?shared_arena::map::(?:journal|write::.*Turn)/],
    ['the bucket: where, and whose'               => qr/\bLimiter::home$|\bHome::(?:new|glance|own_in)\b|::rate::slot::/],
    ['the time'                                   => qr/^<?shared_arena::clock::/],
    ['the decision'                               => qr/^<?shared_arena::rate::gcra::/],
    ['the statistics'                             => qr/\bLine::count$|\bLimiter::line$|\bArena::line$/],
    ['else of the core' =>
        qr/\bMap>::(?:store|overwrite|fetch|exists|incr|count|counter|live|seek\w*)(?:::\{\{closure\}\})*$|\bshared_arena::rate::/,
        'core'],
    ['the C library: copying, the clock'          => undef, 'libc'],
    ['perl: the assignment'                       => undef, 'assignment'],
);
my %grouped = map { my ($name, undef, @groups) = @$_; map { $_ => $name } @groups } @steps_of_a_call;

watchdog(580);
my $scratch = File::Temp->newdir;
my $object  = build("$scratch");
my %wanted  = map { $_ => 1 } @calls;
my @counts  = grep { $wanted{ $_->[0] } } count_calls('site', blib => "$scratch/blib", key => \&place);
my $step_at = steps_at(map { grep {/^0x/} keys %{ $_->[1] } } @counts);

my %cost;
for (@counts) {
    my ($call, $count) = @$_;
    $cost{$call}{ $grouped{$_} || $step_at->{$_} || 'else of the core' } += $count->{$_} for keys %$count;
}
my $table = join(' | ', '| step', @calls) . " |\n" . '|--' . '|--:' x @calls . "|\n";
for my $name (map { $_->[0] } @steps_of_a_call) {
    my @cells = map { int(($cost{$_}{$name} || 0) + 0.5) || '' } @calls;
    $table .= join(' | ', "| $name", @cells) . " |\n" if grep {length} @cells;
}
$table .= join(' | ', '| **together**', map { int(total($cost{$_}) + 0.5) } @calls) . " |\n";
if (grep { $_ eq '--print' } @ARGV) { print $table }
else                                { fill_in('steps', $table) }

# Builds what MANIFEST lists, in that folder; returns the module.
sub build {
    my ($folder) = @_;
    my $back = getcwd();
    chdir "$FindBin::Bin/.." or die "chdir: $!";
    { local $ExtUtils::Manifest::Quiet = 1; manicopy(maniread(), $folder, 'cp') }
    chdir $folder or die "chdir: $!";
    local $ENV{CARGO_PROFILE_RELEASE_DEBUG} = 1;
    system("perl Makefile.PL OPTIMIZE='-O2 -g' </dev/null >/dev/null") == 0 or die "Makefile.PL failed\n";
    write_file('Makefile', read_file('Makefile') =~ s/-Wl,--strip-debug//gr);
    system('make -s >/dev/null 2>&1') == 0 or die "make failed\n";
    chdir $back or die "chdir: $!";
    return "$folder/blib/arch/auto/Shared/Arena/Arena.so";
}

# Addresses in our own code; elsewhere the group.
sub place {
    my ($file, $function, $address) = @_;
    return $file =~ m{/Arena\.so$} ? $address : TestInstructions::step_of($file, $function);
}

# The step of each address: that of the innermost function that is one.
sub steps_at {
    my %step;
    my @command = (qw(addr2line --demangle --functions --inlines --addresses -e), $object);
    my $list = File::Temp->new;
    print {$list} map {"$_\n"} @_;
    close $list;
    open my $out, '-|', "@command <$list" or die "addr2line: $!\n";
    my ($address, $function);
    while (my $line = <$out>) {
        chomp $line;
        if ($line =~ /^0x0*([0-9a-f]+)$/) {
            $address  = "0x$1";
            $function = undef;
        }
        elsif (!defined $function) { $function = $line }
        else {
            my ($step) = grep { $_->[1] && $function =~ $_->[1] } @steps_of_a_call;
            $step{$address} ||= $step->[0] if $step;
            $function = undef;
        }
    }
    close $out or die "addr2line failed\n";
    return \%step;
}
