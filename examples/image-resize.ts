/**
 * Makes pictures in three sizes. This needs CPU, so the worker has as many slots as cores, and the job has a timeout.
 *
 * The payload does not contain the picture: it names a file (or an object in a bucket). The name of the result follows from the input, so
 * that a second attempt overwrites the first result.
 */
import { mkdtemp, rename, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { connect, defineJob, Discard } from "millrace";
import sharp from "sharp";
import * as z from "zod";

const WIDTHS = [160, 640, 1280];

const resize = defineJob({
  type: "image:resize",
  input: z.object({ path: z.string(), widths: z.array(z.int().min(16).max(4096)).min(1) }),
  timeout: "1m",
  maxRetries: 2,
});

const folder = await mkdtemp(join(tmpdir(), "millrace-images-"));
const original = join(folder, "sunset.png");
await sharp({ create: { width: 1600, height: 900, channels: 3, background: "#f2711c" } })
  .png()
  .toFile(original);

const client = await connect("memory:", { onTrouble: ({ message }) => console.log(message) });
const worker = client.work(
  [
    resize.handle(async ({ path, widths }, ctx) => {
      const { width: full } = await sharp(path).metadata().catch((error: Error) => {
        // The file is not a picture: a retry would not help.
        throw new Discard(error.message);
      }); // oxfmt-ignore
      const made = [];
      for (const [index, width] of widths.entries()) {
        // Between two steps, stop after a timeout, a cancel, or the stop of the worker.
        ctx.signal.throwIfAborted();
        const target = path.replace(/\.\w+$/, `-${width}.webp`);
        // Written to another name and then renamed, so that a reader sees a whole picture or none.
        await sharp(path).resize({ width: Math.min(width, full) }).webp().toFile(`${target}.part`); // oxfmt-ignore
        await rename(`${target}.part`, target);
        ctx.progress((100 * (index + 1)) / widths.length, `${width} px`);
        made.push(target);
      }
      return { made };
    }),
  ],
  { concurrency: availableParallelism() },
);

const job = await client.enqueue(resize, { path: original, widths: WIDTHS });
const { made } = (await client.wait(job.id)).result as { made: string[] };
for (const path of made) {
  const { width, height, format } = await sharp(path).metadata();
  console.log(`${path.slice(folder.length + 1)}: ${width} × ${height}, ${format}`);
}

const broken = await client.enqueue(resize, { path: join(folder, "no-such.png"), widths: WIDTHS });
const ended = await client.wait(broken.id);
console.log(`a missing picture: ${ended.status} after ${ended.attempt} attempt`);

await worker.stop();
await client.close();
await rm(folder, { recursive: true });
