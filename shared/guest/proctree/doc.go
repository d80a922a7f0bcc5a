// Package proctree finds and ends processes of Linux: the descendants of one,
// and those that carry a tag.
package proctree
