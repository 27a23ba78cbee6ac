import pg from "pg";

/** Runs statements as somebody who is no part of the run. */
export async function asOperator<Answer>(url: string, work: (client: pg.Client) => Promise<Answer>): Promise<Answer> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Writes a row of its own again and again, on a connection that is made anew when it broke. */
export class PostgresProber {
  readonly #url: string;
  #client: pg.Client | null = null;

  constructor(url: string) {
    this.#url = url;
  }

  async probe(): Promise<void> {
    try {
      this.#client ??= await this.#connect();
      await this.#client.query("update public.probe set count = count + 1");
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#url });
    client.on("error", () => {});
    await client.connect();
    await client.query("create table if not exists public.probe (count bigint not null)");
    await client.query("insert into public.probe select 0 where not exists (select from public.probe)");
    return client;
  }
}
