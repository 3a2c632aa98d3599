import { type Program } from './program.ts'

/** Looks for a smaller program that still has the property; gives the smallest it finds. */
export async function shrink (program: Program, hasProperty: (program: Program) => Promise<boolean>): Promise<Program> {
  let smallest = program
  for (let found: Program | undefined = smallest; found !== undefined;) {
    smallest = found
    found = undefined
    for (const candidate of smallerThan(smallest)) {
      if (!await hasProperty(candidate)) continue
      found = candidate
      break
    }
  }
  return smallest
}

type Data = null | boolean | number | string | undefined | readonly Data[] | { readonly [key: string]: Data }

/** Every program that lacks one statement, branch or operand, or has a part of an expression or statement in its place. */
function * smallerThan (program: Program): Generator<Program> {
  for (const data of reductions(program as unknown as Data)) yield data as unknown as Program
}

function * reductions (data: Data): Generator<Data> {
  if (Array.isArray(data)) {
    for (let index = 0; index < data.length; index++) {
      const [before, after] = [data.slice(0, index), data.slice(index + 1)] as [Data[], Data[]]
      yield [...before, ...after]
      for (const body of bodiesOf(data[index])) yield [...before, ...body, ...after]
      for (const reduced of reductions(data[index])) yield [...before, reduced, ...after]
    }
    return
  }
  if (typeof data !== 'object' || data === null) return
  const members = data as { readonly [key: string]: Data }
  if (typeof members['type'] === 'string') yield * partsOf(members)
  for (const [key, value] of Object.entries(members)) {
    if (key === 'otherwise' && value !== undefined) yield { ...members, otherwise: undefined }
    for (const reduced of reductions(value)) yield { ...members, [key]: reduced }
  }
}

/** The lists of statements inside a statement, which may stand in its place. */
function bodiesOf (data: Data): ReadonlyArray<readonly Data[]> {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return []
  const { body, otherwise } = data as { readonly [key: string]: Data }
  return [body, otherwise].filter(list => Array.isArray(list))
}

/** The expressions inside an expression, which may stand in its place. */
function * partsOf ({ type, operands, value, base }: { readonly [key: string]: Data }): Generator<Data> {
  if (type === 'function' || type === 'tool') yield * operands as readonly Data[]
  if (type === 'assign') yield value
  if (type === 'field') yield base
}
