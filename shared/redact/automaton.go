package redact

// automaton finds all patterns at once (Aho-Corasick) over a text in which each
// run of whitespace counts as one space. Nodes near the root, where ordinary
// text stays, have a whole row of moves; the others a list of children, which
// keeps the memory in proportion to the patterns.
type automaton struct {
	hot  uint32   // nodes below it have a row, no output and no space in their text
	rows []uint32 // hot rows of 256 moves

	sym     []byte   // last symbol of the node's text
	child   []uint32 // first child, 0 is none
	sibling []uint32 // next child of the same parent, 0 is none
	fail    []uint32 // longest proper suffix of the node's text that is a node
	out     []uint32 // length of the longest pattern that the node's text ends with
	depth   []uint32 // length of the node's text
}

const (
	hotDepth = 2
	maxHot   = 1024
)

func newAutomaton(patterns [][]byte) *automaton {
	a := &automaton{}
	a.addNode(0, 0)
	for _, p := range patterns {
		node := uint32(0)
		for _, c := range p {
			next := a.childOf(node, c)
			if next == 0 {
				next = a.addNode(c, a.depth[node]+1)
				a.sibling[next], a.child[node] = a.child[node], next
			}
			node = next
		}
		a.out[node] = uint32(len(p))
	}
	order := a.link()
	a.renumber(order)
	a.fillRows()
	return a
}

func (a *automaton) addNode(sym byte, depth uint32) uint32 {
	a.sym = append(a.sym, sym)
	a.depth = append(a.depth, depth)
	a.child = append(a.child, 0)
	a.sibling = append(a.sibling, 0)
	a.fail = append(a.fail, 0)
	a.out = append(a.out, 0)
	return uint32(len(a.sym) - 1)
}

func (a *automaton) childOf(node uint32, sym byte) uint32 {
	c := a.child[node]
	for c != 0 && a.sym[c] != sym {
		c = a.sibling[c]
	}
	return c
}

// link sets fail and inherits out, and returns the nodes by depth.
func (a *automaton) link() []uint32 {
	order := append(make([]uint32, 0, len(a.sym)), 0)
	for i := 0; i < len(order); i++ {
		node := order[i]
		for c := a.child[node]; c != 0; c = a.sibling[c] {
			order = append(order, c)
			if node == 0 {
				continue
			}
			f := a.fail[node]
			for f != 0 && a.childOf(f, a.sym[c]) == 0 {
				f = a.fail[f]
			}
			a.fail[c] = a.childOf(f, a.sym[c])
			a.out[c] = max(a.out[c], a.out[a.fail[c]])
		}
	}
	return order
}

// renumber puts the hot nodes first. A hot node's suffixes are hot as well: they
// are shallower, and depth 1 always fits.
func (a *automaton) renumber(order []uint32) {
	number := make([]uint32, len(order))
	isHot := make([]bool, len(order))
	sorted := make([]uint32, 0, len(order))
	spaced := make([]bool, len(order))
	for _, node := range order {
		for c := a.child[node]; c != 0; c = a.sibling[c] {
			spaced[c] = spaced[node] || a.sym[c] == ' '
		}
		if a.depth[node] <= hotDepth && a.out[node] == 0 && !spaced[node] && len(sorted) < maxHot {
			isHot[node] = true
			number[node] = uint32(len(sorted))
			sorted = append(sorted, node)
		}
	}
	a.hot = uint32(len(sorted))
	for _, node := range order {
		if !isHot[node] {
			number[node] = uint32(len(sorted))
			sorted = append(sorted, node)
		}
	}
	was := *a
	size := len(order)
	a.sym, a.depth = make([]byte, size), make([]uint32, size)
	a.child, a.sibling = make([]uint32, size), make([]uint32, size)
	a.fail, a.out = make([]uint32, size), make([]uint32, size)
	for i, node := range sorted {
		a.sym[i], a.depth[i], a.out[i] = was.sym[node], was.depth[node], was.out[node]
		a.child[i], a.sibling[i], a.fail[i] = number[was.child[node]], number[was.sibling[node]], number[was.fail[node]]
	}
}

func (a *automaton) fillRows() {
	a.rows = make([]uint32, 256*a.hot)
	for node := range a.hot { // by depth, so the row of fail is full
		row := a.rows[256*node : 256*node+256]
		if node != 0 {
			copy(row, a.rows[256*a.fail[node]:][:256])
		}
		for c := a.child[node]; c != 0; c = a.sibling[c] {
			if a.sym[c] != ' ' {
				row[a.sym[c]] = c
				continue
			}
			for _, space := range []byte(" \t\n\v\f\r") {
				row[space] = c
			}
		}
	}
}

// next is the move from node at byte c.
func (a *automaton) next(node uint32, c byte) uint32 {
	if isSpace(c) {
		c = ' '
		if node != 0 && a.sym[node] == ' ' {
			return node // the same run
		}
	}
	for node >= a.hot {
		if to := a.childOf(node, c); to != 0 {
			return to
		}
		node = a.fail[node]
	}
	return a.rows[256*node+uint32(c)]
}
