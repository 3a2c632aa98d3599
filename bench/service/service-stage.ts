import { join } from 'node:path'
import { type ServerProcess } from '../processes.ts'
import { onStage, type Stage } from '../stage.ts'
import { writeStore } from './payload.ts'

/** A stage for the service, and what it finds there. */
export interface ServiceStage extends Stage {
  /** A store of 1,100 prompts, of which 1,000 are written in Handlebars. */
  readonly store: string
  /** Starts the service, as built, over a store. */
  startService (store: string, environment?: Readonly<Record<string, string>>): Promise<ServerProcess>
}

/** Sets a stage up for `play`, and clears it away. */
export function onServiceStage<T> (play: (stage: ServiceStage) => Promise<T>): Promise<T> {
  return onStage(async ({ folder, start }) => {
    const store = join(folder, 'store')
    await writeStore(store, 1000, 0)
    return await play({
      folder,
      store,
      start,
      startService: (of, environment = {}) => start('dist/main.js', { STORE_DIR: of, PORT: '0', ...environment })
    })
  })
}
