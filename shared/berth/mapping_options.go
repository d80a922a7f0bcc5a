package berth

// optionRows are the provider objects. Each object is an error on every other
// provider; its fields say nothing of them.
func optionRows() []MappingRow {
	var rows []MappingRow
	for _, o := range []struct {
		owner  ProviderKind
		fields []MappingRow
	}{
		{ProviderDocker, []MappingRow{
			own(ProviderDocker, "docker.extra_mounts", "Bind mounts", "by the server's allow list"),
			own(ProviderDocker, "docker.network_mode", "Docker network mode", "`host`, `container:` and named networks by the server's allow list"),
			own(ProviderDocker, "docker.auto_pull", "Pull when the image is missing", "true when unset"),
			own(ProviderDocker, "docker.pool_size", "Sandboxes kept started", "0 when unset"),
		}},
		{ProviderDaytona, []MappingRow{
			own(ProviderDaytona, "daytona.snapshot", "Snapshot that exists", "`daytona-medium` when there is no Dockerfile either"),
			own(ProviderDaytona, "daytona.target", "Region", "the account's default when unset"),
		}},
		{ProviderSSH, []MappingRow{
			own(ProviderSSH, "ssh.destination", "Destination of OpenSSH", "required"),
			own(ProviderSSH, "ssh.working_directory", "Workspace", "required"),
			own(ProviderSSH, "ssh.config_file", "OpenSSH configuration file on the server", ""),
			own(ProviderSSH, "ssh.preview_url_base", "Preview URLs, the port behind it", ""),
		}},
		{ProviderExe, []MappingRow{
			own(ProviderExe, "exe.image", "Image of the VM", "exe's own default when unset"),
		}},
		{ProviderSprites, []MappingRow{
			own(ProviderSprites, "sprites.org", "Organisation", ""),
			own(ProviderSprites, "sprites.name", "Sprite that exists", "never destroyed"),
			own(ProviderSprites, "sprites.url_auth", "Who may open the sprite's URL", "`sprite` or `public`"),
		}},
	} {
		rows = append(rows, objectRow(o.owner))
		rows = append(rows, o.fields...)
	}
	return rows
}

func objectRow(owner ProviderKind) MappingRow {
	c := cells{}
	for _, kind := range ProviderKinds {
		c[kind] = refused(foreignObject(owner, kind))
	}
	c[owner] = mapped("See its fields", "")
	return row(string(owner), c)
}

func foreignObject(owner, provider ProviderKind) string {
	return "is for provider " + string(owner) + " alone, and this environment's provider is " + string(provider)
}

func own(owner ProviderKind, field, to, note string) MappingRow {
	return row(field, cells{owner: mapped(to, note)})
}
