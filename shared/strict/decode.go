package strict

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berth-dev/berth/shared/berth"
)

// Decode walks a tree against the struct that into points to and returns every
// problem, at paths below prefix. What is right is set even when something else
// is wrong.
func Decode(tree any, into any, prefix string) []berth.Problem {
	var d decoder
	d.value(prefix, tree, reflect.ValueOf(into).Elem(), "")
	return d.problems.List()
}

type decoder struct{ problems berth.Problems }

var (
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	bytesType       = reflect.TypeFor[[]byte]()
	rawType         = reflect.TypeFor[json.RawMessage]()
)

func (d *decoder) value(path string, tree any, into reflect.Value, enum string) {
	switch t := into.Type(); {
	case t.Kind() == reflect.Pointer:
		d.pointer(path, tree, into, enum)
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		if tree != nil {
			into.Set(reflect.ValueOf(tree))
		}
	case t == rawType:
		d.raw(path, tree, into)
	case t == bytesType:
		d.bytes(path, tree, into)
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		d.text(path, tree, into)
	default:
		d.plain(path, tree, into, enum)
	}
}

func (d *decoder) plain(path string, tree any, into reflect.Value, enum string) {
	switch into.Kind() {
	case reflect.Struct:
		d.object(path, tree, into)
	case reflect.Map:
		d.mapping(path, tree, into, enum)
	case reflect.Slice:
		d.list(path, tree, into, enum)
	case reflect.String:
		d.str(path, tree, into, enum)
	case reflect.Bool:
		if b, ok := tree.(bool); ok {
			into.SetBool(b)
		} else {
			d.wrongType(path, "true or false", tree)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.integer(path, tree, into)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.unsigned(path, tree, into)
	case reflect.Float32, reflect.Float64:
		d.float(path, tree, into)
	default:
		panic("strict: cannot decode into " + into.Type().String())
	}
}

func (d *decoder) wrongType(path, want string, tree any) {
	d.problems.Addf(path, "must be %s, not %s", want, kindOf(tree))
}

func kindOf(tree any) string {
	switch tree.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a string"
	case json.Number, int64, float64:
		return "a number"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return "a date or time"
}

func (d *decoder) pointer(path string, tree any, into reflect.Value, enum string) {
	if tree == nil {
		into.SetZero()
		return
	}
	// A new target unless there is a default to decode onto: what into points to
	// may be shared with the caller's other values.
	target := reflect.New(into.Type().Elem())
	if !into.IsNil() {
		target.Elem().Set(into.Elem())
	}
	d.value(path, tree, target.Elem(), enum)
	into.Set(target)
}

func (d *decoder) object(path string, tree any, into reflect.Value) {
	object, ok := tree.(map[string]any)
	if !ok {
		d.wrongType(path, "an object", tree)
		return
	}
	fields := fieldsOf(into.Type())
	for _, key := range slices.Sorted(maps.Keys(object)) {
		f, known := fields[key]
		if !known && d.problems.Full() {
			d.problems.Add(berth.Problem{}) // only counted: to find the nearest key takes time
			continue
		}
		if !known {
			d.problems.Addf(berth.FieldPath(path, key), "%s", unknownKey(key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		d.value(berth.FieldPath(path, key), object[key], into.FieldByIndex(f.index), f.enum)
	}
}

func (d *decoder) mapping(path string, tree any, into reflect.Value, enum string) {
	object, ok := tree.(map[string]any)
	if !ok {
		d.wrongType(path, "an object", tree)
		return
	}
	t := into.Type()
	m := reflect.MakeMapWithSize(t, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		v := reflect.New(t.Elem()).Elem()
		d.value(berth.FieldPath(path, key), object[key], v, enum)
		m.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), v)
	}
	into.Set(m)
}

func (d *decoder) list(path string, tree any, into reflect.Value, enum string) {
	list, ok := tree.([]any)
	if !ok {
		d.wrongType(path, "a list", tree)
		return
	}
	s := reflect.MakeSlice(into.Type(), len(list), len(list))
	for i, item := range list {
		d.value(berth.IndexPath(path, i), item, s.Index(i), enum)
	}
	into.Set(s)
}

func (d *decoder) str(path string, tree any, into reflect.Value, enum string) {
	s, ok := tree.(string)
	if !ok {
		d.wrongType(path, "a string", tree)
		return
	}
	if words := strings.Split(enum, ","); enum != "" && !slices.Contains(words, s) {
		d.problems.Addf(path, "must be one of %s%s", strings.Join(words, ", "), meant(s, words))
		return
	}
	into.SetString(s)
}

func (d *decoder) integer(path string, tree any, into reflect.Value) {
	n, ok := d.whole(path, tree)
	switch {
	case !ok:
	case into.OverflowInt(n):
		d.problems.Addf(path, "is out of range")
	default:
		into.SetInt(n)
	}
}

func (d *decoder) unsigned(path string, tree any, into reflect.Value) {
	n, ok := d.whole(path, tree)
	switch {
	case !ok:
	case n < 0 || into.OverflowUint(uint64(n)):
		d.problems.Addf(path, "is out of range")
	default:
		into.SetUint(uint64(n))
	}
}

func (d *decoder) whole(path string, tree any) (int64, bool) {
	switch v := tree.(type) {
	case int64:
		return v, true
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 64)
		if err == nil {
			return n, true
		}
		d.problems.Addf(path, "must be a whole number, written without fraction and exponent, that fits in 64 bits")
	case float64:
		d.problems.Addf(path, "must be a whole number")
	default:
		d.wrongType(path, "a whole number", tree)
	}
	return 0, false
}

func (d *decoder) float(path string, tree any, into reflect.Value) {
	var f float64
	switch v := tree.(type) {
	case float64:
		f = v
	case int64:
		f = float64(v)
	case json.Number:
		f, _ = v.Float64()
	default:
		d.wrongType(path, "a number", tree)
		return
	}
	if math.IsNaN(f) || math.IsInf(f, 0) || into.OverflowFloat(f) {
		d.problems.Addf(path, "is out of range")
		return
	}
	into.SetFloat(f)
}

func (d *decoder) bytes(path string, tree any, into reflect.Value) {
	s, ok := tree.(string)
	if !ok {
		d.wrongType(path, "a string in base64", tree)
		return
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		d.problems.Addf(path, "is not base64 with padding")
		return
	}
	into.SetBytes(b)
}

func (d *decoder) raw(path string, tree any, into reflect.Value) {
	b, err := json.Marshal(tree)
	if err != nil {
		d.problems.Addf(path, "is no JSON value")
		return
	}
	into.SetBytes(b)
}

func (d *decoder) text(path string, tree any, into reflect.Value) {
	if t, ok := tree.(time.Time); ok && into.Type() == reflect.TypeFor[time.Time]() {
		into.Set(reflect.ValueOf(t))
		return
	}
	s, ok := tree.(string)
	if !ok {
		d.wrongType(path, "a string", tree)
		return
	}
	u, _ := into.Addr().Interface().(encoding.TextUnmarshaler)
	if err := u.UnmarshalText([]byte(s)); err != nil {
		if into.Type() == reflect.TypeFor[time.Time]() {
			d.problems.Addf(path, "must be a time such as 2026-01-02T15:04:05Z")
			return
		}
		d.problems.Addf(path, "is malformed")
	}
}
