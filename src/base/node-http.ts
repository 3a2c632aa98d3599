import type * as http from 'node:http'

/**
 * Node's `node:http`. An `import` of it, even of one constant, makes Node read every export, and one of them loads Node's own
 * undici: 40 ms of a start, since Node 22.5 (https://github.com/nodejs/node/issues/59686). Asked for like this it does not.
 */
export const nodeHttp: typeof http = process.getBuiltinModule('node:http')
