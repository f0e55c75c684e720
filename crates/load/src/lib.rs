//! Pages as graphs, the browser that loads them and the origin that serves them.

pub mod page;
