/** The limits of one run of a prompt's templates (docs/templates.md, Bounds). */
export interface Limits {
  /**
   * The most visits (a visit is the unit of work) over all passes: one for each node of a template, and for each element or 64 UTF-16 units of text that
   * functions process.
   */
  readonly visits: number
  /** The length of the longest text that a run is allowed to make, in UTF-16 units. */
  readonly output: number
  /** The most levels of partials within partials, and of templates within templates, that are allowed. */
  readonly depth: number
  /** The most different tool calls that one run is allowed to make. */
  readonly calls: number
  /** The greatest allowed size of all shared variables that the run looks at, added together, in bytes of stored text. */
  readonly environs: number
}

/** The limits of every render. */
export const DEFAULT_LIMITS: Limits = { visits: 500_000, output: 1024 * 1024, depth: 100, calls: 100, environs: 8 * 1024 * 1024 }
