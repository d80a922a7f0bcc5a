package berth

// Check refuses a sandbox that a provider of that kind must not begin to make. It is
// the last look, at the provider itself: what the mapping refuses fails there too,
// whatever came before. Errors: invalid for an id that is no ULID; unsupported.
func (s SandboxSpec) Check(kind ProviderKind) error {
	if !IsULID(string(s.ID)) {
		return FieldErrorf(CodeInvalid, "sandbox", "must be a lower-case ULID")
	}
	e := s.Environment
	e.Provider = kind // an object of another one is refused by it
	_, problems := CheckMapping(e)
	return Unsupported(problems)
}
