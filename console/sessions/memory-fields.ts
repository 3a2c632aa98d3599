/**
 * A field of memory (stored preferences). `values` are the possible values; a field without them is a text, or a list of texts that is
 * edited with one text on each line.
 */
export interface MemoryField { readonly name: string, readonly values?: readonly string[] | readonly number[] }

/** All fields of memory that the service accepts (docs/plans.md). */
export const MEMORY_FIELDS: { readonly user: readonly MemoryField[], readonly project: readonly MemoryField[] } = {
  user: [
    { name: 'user.preferred_style', values: ['brief', 'normal', 'verbose'] },
    { name: 'user.ask_budget', values: [0, 1, 2] },
    { name: 'user.risk_tolerance', values: ['low', 'medium', 'high'] },
    { name: 'user.default_language' },
    { name: 'user.output_format', values: ['patch_first', 'plan_first', 'plan', 'apply'] }
  ],
  project: [
    'default_test_command',
    'default_lint_command',
    'default_format_command',
    'build_command',
    'package_manager',
    'ci_notes',
    'src_roots',
    'test_roots'
  ].map(name => ({ name: `project.${name}` }))
}
