import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse, parseAllDocuments } from 'yaml'
import { createGoLanguage } from '../../src/template/go/go-language.ts'
import { DEFAULT_LIMITS, RenderRun } from '../../src/template/run.ts'
import { type JsonObject } from '../../src/base/json.ts'
import { DataRoot, NO_ENVIRONS } from '../template/handlebars/harness.ts'
import { helmFunction, SPRIG } from './sprig.ts'

/** A Kubernetes object as the chart gives it. */
export interface Manifest { readonly apiVersion: string, readonly kind: string, readonly metadata: { readonly name: string }, readonly [key: string]: unknown }

/** Values of a chart, or a part of them. */
export interface Values { readonly [name: string]: unknown }

const RELEASE = 'shell'
const KUBE_VERSION = '1.31.0'

/**
 * Renders a chart as `helm template shell FOLDER` does: over our own engine, with the functions that Helm adds.
 * Values are merged over values.yaml and checked by values.schema.json.
 * @throws Error for values against the schema, and for the chart's own `fail`
 */
export function renderChart (folder: string, values: Values = {}): Manifest[] {
  const all = merge(parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values, values)
  checkValues(folder, all)
  const names = readdirSync(join(folder, 'templates')).sort()
  // Helm's `.Files` has methods; our values have none, so it is a function here.
  const read = (name: string) => readFileSync(join(folder, 'templates', name), 'utf8').replaceAll('.Files.Get ', 'filesGet ')
  const filesGet = helmFunction('filesGet', name => readFileSync(join(folder, String(name)), 'utf8'))
  const helpers = names.filter(name => name.endsWith('.tpl')).map(read).join('')
  const data = contextOf(folder, all)
  const render = (text: string, dot: JsonObject): string => {
    const include = helmFunction('include', (name, inner) => render(`{{template "${String(name)}" .}}`, inner as JsonObject))
    const language = createGoLanguage(new Map([...SPRIG, include, filesGet].map(each => [each.name, each])))
    const run = new RenderRun({ environs: NO_ENVIRONS, now: new Date(0), limits: DEFAULT_LIMITS })
    const rendered = language.compile({ text: text + helpers }).open(run, { links: [], root: new DataRoot({}) })(dot)
    if (run.misses.length > 0) throw new Error(`the chart prints what is missing: ${run.misses.map(({ path }) => path).join(', ')}`)
    // The definitions come last and leave white space behind, which begins no document.
    return rendered.replace(/\s+$/, '')
  }
  for (const name of names.filter(name => name.endsWith('.txt'))) render(read(name), data)
  return names.filter(name => name.endsWith('.yaml')).flatMap(name => manifestsIn(render(read(name), data)))
}

/** Whether Helm itself is on this machine. */
export function hasHelm (): boolean {
  return spawnSync('helm', ['version']).status === 0
}

/** Renders a chart with Helm itself. */
export function renderWithHelm (folder: string, values: Values = {}): Manifest[] {
  const args = ['template', RELEASE, folder, '--kube-version', KUBE_VERSION, '--values', '-']
  return manifestsIn(execFileSync('helm', args, { input: JSON.stringify(values), encoding: 'utf8' }))
}

function manifestsIn (text: string): Manifest[] {
  return parseAllDocuments(text).map(document => {
    const [error] = document.errors
    if (error !== undefined) throw error
    return document.toJS() as Manifest | null
  }).filter(manifest => manifest !== null)
}

function contextOf (folder: string, values: Values): JsonObject {
  const { name, version, appVersion } = parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as { name: string, version: string, appVersion: string }
  return {
    Values: values as JsonObject,
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: RELEASE, Namespace: 'default', Service: 'Helm' }
  }
}

function checkValues (folder: string, values: Values): void {
  const ajv = new Ajv({ allErrors: true, strict: false })
  const check = ajv.compile(JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8')) as object)
  if (!check(values)) throw new Error(ajv.errorsText(check.errors))
}

/** Helm's merge: objects member by member, anything else replaced. */
function merge (base: Values, over: Values): Values {
  const isMap = (value: unknown): value is Values => typeof value === 'object' && value !== null && !Array.isArray(value)
  const merged = Object.entries(over).map(([name, value]) => {
    const below = base[name]
    return [name, isMap(value) && isMap(below) ? merge(below, value) : value]
  })
  return { ...base, ...Object.fromEntries(merged) as Values }
}
