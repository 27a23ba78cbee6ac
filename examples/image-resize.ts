/**
 * Pictures in three sizes. Work for a processor, not for waiting: so as many slots as processors and no more, and a timeout.
 *
 * Job and picture go separate ways. A payload is a few lines that say what to do; the picture is a file (or an object in a bucket) that it
 * names. The result is written under a name that follows from the input, so that a second attempt overwrites and never doubles.
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

const client = await connect("memory:");
const worker = client.work(
  [
    resize.handle(async ({ path, widths }, ctx) => {
      const { width: full } = await sharp(path).metadata().catch((error: Error) => {
        // A file that is no picture stays one: no attempt will help.
        throw new Discard(error.message);
      }); // prettier-ignore
      const made = [];
      for (const [index, width] of widths.entries()) {
        // Between two steps is the place to notice a timeout, a cancel, or a worker that must stop.
        ctx.signal.throwIfAborted();
        const target = path.replace(/\.\w+$/, `-${width}.webp`);
        // A reader sees a whole picture or none: it is written beside its place, and then moved there.
        await sharp(path).resize({ width: Math.min(width, full) }).webp().toFile(`${target}.part`); // prettier-ignore
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
