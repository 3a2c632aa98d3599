import type * as http from 'node:http'

/**
 * Node's module `node:http`, loaded without an `import`. An `import` of it makes Node read every export, and one of them loads Node's own undici: 40
 * ms of a start, since Node 22.5 (https://github.com/nodejs/node/issues/59686).
 */
export const nodeHttp: typeof http = process.getBuiltinModule('node:http')
