// Which files of tests have a process of their own, as paths below test/, sorted. All others share a few, and need no entry here
// (`npm test`, scripts/test.js).

/**
 * Files that change the process that they run in (its environment, its clock, its cluster), or count its promises. Or they take long by
 * themselves. They run beside others.
 */
export const OWN: readonly string[] = [
  'cli/connect.test.ts',
  'exec/bubblewrap.test.ts',
  'exec/ssh/openssh.test.ts',
  'exec/terminal/much-output.test.ts',
  'exec/terminal/shell-state.test.ts',
  'exec/terminal/terminal-reader.test.ts',
  'files/context/fulfil.test.ts',
  'http/explain.test.ts',
  'http/recordings.test.ts',
  'http/tool-calls.test.ts',
  'http/tool-faults.test.ts',
  'runtime/deadline.test.ts',
  'runtime/throttle.test.ts',
  'session/crash/crash.test.ts',
  'session/crash/talk.test.ts',
  'session/hot-sessions.test.ts',
  'session/replicas-model.test.ts',
  'session/runner.test.ts',
  'session/terminals/terminals-model.test.ts',
  'store/redis-sentinels.test.ts',
  'tool/preparation.test.ts',
  'tool/tool-caller.test.ts',
  'workers/primary.test.ts'
]

/** Files that assert how long something takes, or how much memory: they run last, one at a time, on a machine that does nothing else. */
export const ALONE: readonly string[] = [
  'console/many.test.ts',
  'end-to-end/outages.test.ts',
  'engine/plan/properties.test.ts',
  'engine/skill/clean-output.test.ts',
  'exec/lifeline.test.ts',
  'exec/local-executor.test.ts',
  'http/admission/admission-queue.test.ts',
  'http/admission/overload.test.ts',
  'http/socket/terminal-replicas.test.ts',
  'linear-time.test.ts',
  'registry/template-cache.test.ts',
  'service/sessions/foreign-skills.test.ts',
  'session/residence.test.ts',
  'session/store/directory-session-store.test.ts',
  'template/bombs.test.ts',
  'template/child-name.test.ts',
  'template/fairness.test.ts',
  'warm-up/warm-up.test.ts'
]
