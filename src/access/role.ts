/** All roles that a caller can have; docs/security.md says which call needs which role. */
export const ROLES = ['read', 'render', 'chat', 'write', 'run', 'approve', 'admin', 'terminal'] as const

export type Role = typeof ROLES[number]

/** Adds the roles that the given roles include. `admin` includes all others but `terminal`, whose holder can run any command without an approval. */
export function impliedRoles (given: readonly Role[]): ReadonlySet<Role> {
  return new Set(given.includes('admin') ? [...ROLES.filter(role => role !== 'terminal'), ...given] : given)
}

export function isRole (name: string): name is Role {
  return (ROLES as readonly string[]).includes(name)
}
