import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'

/** The rooms of docs/architecture.md, in their order. */
const ROOMS = ['base', 'runtime', 'observe', 'schema', 'template', 'store', 'tool', 'registry', 'llm', 'config', 'access', 'files', 'exec', 'session', 'engine', 'service', 'service.ts', 'http', 'workers', 'app.ts', 'warm-up.ts', 'early-signals.ts', 'process.ts', 'main.ts', 'cli', 'client']

const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))

describe('rooms', () => {
  it('import only from rooms above them', () => {
    const wrong = files.flatMap(file => importsOf(file).filter(imported => rank(imported) > rank(file)).map(imported => `${file} imports ${imported}`))
    assert.deepEqual(wrong, [])
  })

  it('have no circle of imports, of types neither', () => {
    assert.deepEqual(circles(new Map(files.map(file => [file, importsOf(file)]))), [])
  })

  it('load no engine before the first session', () => {
    const loaded = loadedBy(['main.ts', 'process.ts', 'app.ts', 'http/server.ts'])
    assert.ok(loaded.has('http/routes/plans.ts') && loaded.has('session/engine.ts'))
    assert.deepEqual([...loaded].filter(file => /^engine\/.+-(?:engine|reducer)\.ts$/.test(file)), [])
  })

  it('know nothing of Fastify up to the use cases', () => {
    const wrong = files.filter(file => rank(file) <= rank('service.ts') && /from '(fastify|@fastify)/.test(source(file)))
    assert.deepEqual(wrong, [])
  })

  it('need no package at run time but those that are shipped', () => {
    const { dependencies: always, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<'dependencies' | 'optionalDependencies', Record<string, string>>
    const dependencies = { ...always, ...optionalDependencies }
    const wrong = files.flatMap(file => packagesOf(file).filter(name => !Object.hasOwn(dependencies, name)).map(name => `${file} imports ${name}`))
    assert.deepEqual(wrong, [])
  })
})

describe('the console', () => {
  const pages = readdirSync('console', { recursive: true, encoding: 'utf8' }).filter(file => /\.tsx?$/.test(file))
  const read = (file: string): string => readFileSync(join('console', file), 'utf8')

  it('takes nothing of the service but types', () => {
    const outside = pages.flatMap(file => Array.from(read(file).matchAll(/^import (.+) from '(\.[^']+)'/gm)).filter(([, , path]) => normalize(join('console', dirname(file), path as string)).split('/')[0] !== 'console').map(([, names, path]) => ({ file, names, path })))
    assert.deepEqual(outside.filter(({ names }) => !/^type /.test(names as string)), [])
  })

  it('has no circle of imports', () => {
    const graph = pages.map(file => [file, Array.from(read(file).matchAll(/(?:from |import\()'(\.[^']+)'/g), ([, path]) => normalize(join(dirname(file), path as string)))] as const)
    assert.deepEqual(circles(new Map(graph)), [])
  })

  it('never makes HTML of a text', () => {
    assert.deepEqual(pages.filter(file => /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write/.test(read(file))), [])
  })
})

function rank (file: string): number {
  const room = file.split('/')[0] as string
  const index = ROOMS.indexOf(room)
  assert.notEqual(index, -1, `${file} is in no room`)
  return index
}

/** Without the types that are made of the API's description. */
function importsOf (file: string): string[] {
  const all = Array.from(source(file).matchAll(/(?:from |import\()'(\.[^']+)'/g), ([, path]) => normalize(join(dirname(file), path as string)))
  return all.filter(path => !path.startsWith('../.build/'))
}

/** Files that are loaded with some others at once: what is imported for its types alone, or by `import()`, is not. */
function loadedBy (roots: readonly string[]): Set<string> {
  const loaded = new Set(roots)
  for (const file of loaded) {
    const imports = source(file).matchAll(/^(?:import|export) (.+) from '(\.[^']+)'/gm)
    for (const [, names = '', path = ''] of imports) if (!isOfTypes(names)) loaded.add(normalize(join(dirname(file), path)))
  }
  return loaded
}

/** Whether names of an import are those of types alone. */
function isOfTypes (names: string): boolean {
  return /^(?:type |\{(?: type [\w ]+,?)+ \}$)/.test(names)
}

/** Files that import each other, directly or not: the strongly connected parts of the graph (Tarjan 1972). */
function circles (graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const numbers = new Map<string, number>()
  const path: string[] = []
  function visit (file: string): number {
    const number = numbers.size
    numbers.set(file, number)
    path.push(file)
    let lowest = number
    for (const imported of graph.get(file) ?? []) {
      if (!numbers.has(imported)) lowest = Math.min(lowest, visit(imported))
      else if (path.includes(imported)) lowest = Math.min(lowest, numbers.get(imported) as number)
    }
    if (lowest === number) found.push(path.splice(path.indexOf(file)))
    return lowest
  }
  for (const file of graph.keys()) if (!numbers.has(file)) visit(file)
  return found.filter(({ length }) => length > 1)
}

/** Packages that are there when the file runs: what imports nothing but types is gone by then. */
function packagesOf (file: string): string[] {
  const imports = source(file).matchAll(/(?:^(?:import|export) (.+) from |import\()'((?:@[^/']+\/)?[^/'.:]+)(?=[/'])/gm)
  return Array.from(imports).filter(([, names = '']) => !isOfTypes(names)).map(([, , name]) => name as string)
}

function source (file: string): string {
  return readFileSync(join('src', file), 'utf8')
}
