/** What a caller may be allowed to do; docs/security.md says which call asks for which. */
export const ROLES = ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin', 'terminal'] as const

export type Role = typeof ROLES[number]

/** All that the given roles allow: `admin` stands for every one but `terminal`, whose holder runs anything unasked. */
export function impliedRoles (given: readonly Role[]): ReadonlySet<Role> {
  return new Set(given.includes('admin') ? [...ROLES.filter(role => role !== 'terminal'), ...given] : given)
}

export function isRole (name: string): name is Role {
  return (ROLES as readonly string[]).includes(name)
}
