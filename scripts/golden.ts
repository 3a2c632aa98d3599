// npm run golden: makes the golden traces of docs/golden_traces anew, by really running their scenarios. A schema that has
// changed needs a new version first: traces of one version are all of one schema.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { checkGolden, protocolOfNow } from './check-golden.ts'
import { SCENARIOS } from './golden-scenarios.ts'
import { SCENARIOS_2 } from './golden-scenarios-2.ts'
import { runScenario } from './run-scenario.ts'

for (const [version, scenarios] of [[1, SCENARIOS], [2, SCENARIOS_2]] as const) {
  const folder = `docs/golden_traces/v${protocolOfNow(version).schema_version}`
  mkdirSync(folder, { recursive: true })
  for (const file of readdirSync(folder)) {
    const outdated = checkGolden(JSON.parse(readFileSync(`${folder}/${file}`, 'utf8'))).find(problem => problem.includes('x_schema_version'))
    if (outdated === undefined) continue
    console.error(`${folder}/${file}: ${outdated}`)
    process.exit(1)
  }
  for (const [name, scenario] of Object.entries(scenarios)) {
    writeFileSync(`${folder}/${name}.json`, `${JSON.stringify(await runScenario(scenario), null, 2)}\n`)
    console.log(`${folder}/${name}.json`)
  }
}
