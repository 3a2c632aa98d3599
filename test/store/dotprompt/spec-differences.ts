/** Why a case of Dotprompt's specification is another one here, by its file and suite. Each is in docs/dotprompt.md. */
export const DIFFERENCES: ReadonlyMap<string, string> = new Map([
  ['metadata/metadata_state', '@state is refused: a service keeps no state of callers'],
  ['metadata/metadata_context_variables', '@auth and @user are refused: caller has what is known of who asks'],
  ['helpers/section/basic_section', '{{section}} is refused: messages of chat APIs have no sections'],
  ['helpers/section/nested_sections', '{{section}} is refused: messages of chat APIs have no sections'],
  ['helpers/media/basic', 'a picture is fetched by the provider, from https: only'],
  ['helpers/media/url_only', 'a picture is fetched by the provider, from https: only'],
  ['helpers/media/content_types', 'media are pictures, which the provider fetches from https: only'],
  ['picoschema/input_and_output', 'variables have names: an input that is a text is refused'],
  ['picoschema/line_endings_crlf', 'variables have names: an input that is a text is refused'],
  ['picoschema/named_schema_override_description', 'there are no schemas that are registered by name'],
  ['picoschema/nested_named_schema', 'there are no schemas that are registered by name']
])
