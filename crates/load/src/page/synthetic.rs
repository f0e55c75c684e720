//! Pages made from a description: `synthetic:A`, `synthetic:objects=64,size=10KB`.
