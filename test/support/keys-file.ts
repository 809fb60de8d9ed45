import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const SCOPES = ['checkouts:read', 'checkouts:write', 'refunds:write', 'refunds:approve', 'ops'] as const;
export type Scope = (typeof SCOPES)[number];

export type KeyEntry = {
  name: string;
  /** Default: `default`. */
  account?: string;
  scopes: readonly Scope[];
  stores?: string[];
  terminals?: string[];
  not_after?: string;
  refund_limit?: number | Record<string, number>;
};

export const tokenOf = (name: string): string => `token of ${name}`.replaceAll(' ', '-');

/** A settings file in a folder of its own. */
class SettingsFile {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tillflow-settings-'));
  readonly path = join(this.#folder, 'settings.yml');

  /** Replaces the file in one step. */
  writeText(text: string): void {
    writeFileSync(`${this.path}.new`, text);
    renameSync(`${this.path}.new`, this.path);
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** An `ACCOUNTS_FILE` of its own. */
export class AccountsFile extends SettingsFile {
  write(accounts: Readonly<Record<string, Readonly<Record<string, unknown>>>>): void {
    this.writeText(`${JSON.stringify(accounts, null, 2)}\n`);
  }
}

/** A `KEYS_FILE` of its own. */
export class KeysFile extends SettingsFile {
  /** Replaces the file in one step. A key's token is {@link tokenOf} its name. */
  write(keys: readonly KeyEntry[]): void {
    const list = keys.map(({ name, ...rest }) => ({
      name,
      sha256: createHash('sha256').update(tokenOf(name)).digest('hex'),
      account: 'default',
      ...rest,
    }));
    this.writeText(`${JSON.stringify(list, null, 2)}\n`);
  }
}
