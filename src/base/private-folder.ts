import { chmod, mkdir } from 'node:fs/promises'

/** The modes of the files and folders that the service keeps for itself. What is said and done in sessions must not be read by other users of the machine. */
export const [PRIVATE_FOLDER, PRIVATE_FILE] = [0o700, 0o600]

/** Makes a folder that only this user can enter, and the missing folders above it. An existing folder gets the same mode. */
export async function makePrivateFolder (path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER })
  await chmod(path, PRIVATE_FOLDER)
}
