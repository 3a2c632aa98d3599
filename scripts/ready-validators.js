// Puts checkers whose code is made now in the place of modules that would have Ajv make it at every start.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import standalone from 'ajv/dist/standalone/index.js'
import { build } from 'esbuild'

/** Modules that export `validators`, made by `fixedValidators`. */
const MODULES = ['src/config/config-validator.ts', 'src/schema/validators.ts']

/** As deep below the root as modules are in src, since one of them finds the schemas from where it is. */
const SOURCES = '.build/validators/sources.js'

/**
 * An esbuild plugin that does so: https://ajv.js.org/standalone.html
 * @returns {Promise<import('esbuild').Plugin>}
 */
export async function readyValidators () {
  const code = await readyCode()
  return {
    name: 'ready-validators',
    setup ({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => code.has(path) ? { contents: code.get(path), loader: 'js' } : undefined)
    }
  }
}

/** The code of each module, by its path. */
export async function readyCode () {
  const lines = MODULES.map((module, index) => `import { validators as validators${index} } from './${module}'`)
  const contents = [...lines, 'import { sourceOf } from \'./src/schema/published.ts\'', `export const sources = [${MODULES.map((_, index) => `sourceOf(validators${index})`).join(', ')}]`].join('\n')
  await build({ stdin: { contents, resolveDir: '.' }, outfile: SOURCES, bundle: true, packages: 'external', format: 'esm', platform: 'node', logLevel: 'warning' })
  const { sources } = await import(`${pathToFileURL(resolve(SOURCES)).href}?${Date.now()}`)
  return new Map(MODULES.map((module, index) => [resolve(module), asModule(sources[index])]))
}

/** Ajv's code asks for what it needs at run time by `require`, which there is none of in a module: each becomes an import. */
function asModule ({ ajv, ids }) {
  const needed = new Map()
  const code = standalone.default(ajv, ids).replace(/require\("([^"]+)"\)/g, (_match, name) => {
    if (!needed.has(name)) needed.set(name, `needed${needed.size}`)
    return needed.get(name)
  })
  const imports = Array.from(needed, ([name, local]) => `import ${local} from '${name}.js'\n`)
  return `${imports.join('')}${code}\nexport const validators = { ${Object.keys(ids).map(name => `${name}: () => ${name}`).join(', ')} }\n`
}
