import { type Redis } from 'ioredis'

/**
 * Makes a function that selects a client's database, once for each connection. The function must be awaited before any key is touched: when SELECT is
 * refused, the client only emits an error, and goes on in database 0 (https://github.com/redis/ioredis/blob/main/lib/redis/event_handler.ts,
 * `errorHandler` of "select"). After a refusal the function asks again the next time, so that a user who is given the right needs no new connection.
 * @param database the number in the Redis URL
 * @returns the function; it rejects with what the client throws when the database cannot be selected
 */
export function createDatabaseCheck (client: Redis, database: number): () => Promise<void> {
  if (database === 0) return async () => {}
  let isSelected = false
  client.on('close', () => { isSelected = false })
  return async () => {
    if (isSelected) return
    // A call does not wait for the SELECT of another call, but sends its own: the Redis user has perhaps got the right only after the other was sent.
    await client.select(database)
    isSelected = true
  }
}
