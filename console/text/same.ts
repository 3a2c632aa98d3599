/** The type of the same texts in another language. */
export type Same<T> = { readonly [Key in keyof T]: T[Key] extends string ? string : T[Key] }
