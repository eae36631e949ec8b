//! Panics inside the operator are caught there, and begun again: here each is a broken rule.

use std::{cell::RefCell, panic, sync::Once};

thread_local!(static LAST: RefCell<Option<String>> = const { RefCell::new(None) });

/// Notes panics of a thread instead of printing them.
pub fn note() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            LAST.with_borrow_mut(|last| last.get_or_insert(info.to_string()).len());
            if std::thread::current().name().is_some_and(|name| !name.starts_with("world")) {
                before(info);
            }
        }));
    });
}

/// The first panic since the last look.
pub fn take() -> Option<String> {
    LAST.take()
}
