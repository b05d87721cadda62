//! What the tests share: the composed program under test and the fakes around it.
