/** What a caller may be allowed to do; docs/security.md says which call asks for which. */
export const ROLES = ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin'] as const

export type Role = typeof ROLES[number]

/** All that the given roles allow: `admin` stands for every one. */
export function impliedRoles (given: readonly Role[]): ReadonlySet<Role> {
  return new Set(given.includes('admin') ? ROLES : given)
}

export function isRole (name: string): name is Role {
  return (ROLES as readonly string[]).includes(name)
}
