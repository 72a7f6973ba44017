//! Robota: agents that outlive their process.
