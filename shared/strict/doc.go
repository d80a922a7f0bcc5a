// Package strict decodes JSON and TOML into structs and reports every problem
// at once, each at the path of its field: unknown keys with the nearest known
// one, duplicate keys, wrong types, values outside an enum. No message holds a
// value from the input.
//
// Structs say what they take with their json tags, for both languages; an enum
// tag (`enum:"a,b"`) lists the only values of a string. A pointer may be null.
// Keys that are absent leave the struct's field as it was, so defaults are set
// before decoding.
package strict
