package berth

import (
	"net/netip"
	"strings"
)

// ParseCIDR reads an IPv4 or IPv6 network with its prefix length, such as
// 10.0.0.0/8. Bits behind the prefix may be set, as in the documents' examples;
// the result has them cleared. Error: invalid.
func ParseCIDR(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	switch {
	case err == nil && prefix.Addr().Is4In6():
		return netip.Prefix{}, Errorf(CodeInvalid, "is an IPv4 network in IPv6 form: write it as IPv4")
	case err == nil:
		return prefix.Masked(), nil
	case !strings.Contains(s, "/"):
		return netip.Prefix{}, Errorf(CodeInvalid, "has no prefix length: write a CIDR such as 10.0.0.0/8, or /32 for one address")
	}
	return netip.Prefix{}, Errorf(CodeInvalid, "is not a CIDR, such as 10.0.0.0/8 or fd00::/8")
}
