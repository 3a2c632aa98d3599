/** The limits of one run of a prompt's templates (docs/templates.md, Bounds). */
export interface Limits {
  /**
   * The greatest number of visits, the unit of work, over all passes: one for each node of a template, and for each element or 64 bytes that
   * functions process.
   */
  readonly visits: number
  /** The greatest length of one rendered text, in UTF-16 units. */
  readonly output: number
  /** How deep partials may nest in partials, and templates in templates. */
  readonly depth: number
  /** The greatest number of different tool calls. */
  readonly calls: number
  /** The greatest size of all shared variables that the run looks at, in bytes of stored text. */
  readonly environs: number
}

/** The limits of every render. */
export const DEFAULT_LIMITS: Limits = { visits: 500_000, output: 1024 * 1024, depth: 100, calls: 100, environs: 8 * 1024 * 1024 }
