//! Journal stores.
