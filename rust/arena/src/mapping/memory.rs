//! How much memory can still be had: what the machine says, and the control group (version 2) this process runs in.

use std::fs;

/// Bytes that can be taken without the kernel killing somebody for them; None where nobody says.
pub(super) fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| of_group(&text));
    match (machine, group) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

/// What `/proc/meminfo` says: memory that can be freed, and swap.
fn of_machine(text: &str) -> Option<u64> {
    let kilobytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    };
    Some((kilobytes("MemAvailable")? + kilobytes("SwapFree").unwrap_or(0)) * 1024)
}

/// What is left below the limits of the control group, version 2, and of the groups around it.
fn of_group(text: &str) -> Option<u64> {
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |directory: &str, file: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup{directory}/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let mut directory = path.trim_end_matches('/');
    let mut least: Option<u64> = None;
    loop {
        // A group without a limit says "max", which is no number.
        if let Some(limit) = number(directory, "memory.max") {
            let left = limit.saturating_sub(number(directory, "memory.current").unwrap_or(0));
            least = Some(least.map_or(left, |least| least.min(left)));
        }
        let Some(parent) = directory.rfind('/') else { return least };
        directory = &directory[..parent];
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn the_figures_are_read_as_the_kernel_writes_them() {
        let text = "MemTotal:       24700000 kB\nMemFree:  1 kB\nMemAvailable:    1000 kB\nSwapFree:   24 kB\n";
        assert_eq!(of_machine(text), Some(1024 * 1024));
        assert_eq!(of_machine("MemTotal: 1 kB"), None);
        assert_eq!(of_group("1:cpu:/x\n"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn an_arena_larger_than_memory_is_refused_at_once() {
        let Err(error) = crate::Arena::create(None, 1 << 46, 1) else { panic!("64 TiB were to be had") };
        let text = error.to_string();
        assert!(text.contains("bytes free"), "{text}");
        assert!(matches!(error, Error::System { cause, .. } if cause.raw_os_error() == Some(libc::ENOMEM)), "{text}");
    }
}
