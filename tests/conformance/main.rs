//! placeholder
#[test] fn x(){}
