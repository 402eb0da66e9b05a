import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { toolsFolder, withoutTools } from '../../../http/openapi/support/tools.js';

// The types of playwright-core that are used here. They are written by hand, because the package is
// not always installed.

interface Locator {
  click(): Promise<void>;
  count(): Promise<number>;
  first(): Locator;
  fill(text: string): Promise<void>;
  focus(): Promise<void>;
  waitFor(): Promise<void>;
  innerText(): Promise<string>;
  getAttribute(name: string): Promise<string | null>;
}

export interface Page {
  goto(url: string): Promise<unknown>;
  locator(selector: string): Locator;
  evaluate<T>(expression: string): Promise<T>;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'request', listener: (request: { url(): string }) => void): void;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  readonly clock: { install(): Promise<void>; runFor(ms: number): Promise<void> };
}

interface Context {
  newPage(): Promise<Page>;
  grantPermissions(permissions: readonly string[]): Promise<void>;
  setOffline(isOffline: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface ContextOptions {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
  readonly reducedMotion: 'reduce';
}

export interface Browser {
  newContext(options: ContextOptions): Promise<Context>;
  close(): Promise<void>;
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** The reason to skip a test that needs a browser, or `false` if one is installed. */
export const withoutBrowser =
  withoutTools || (CHROMIUM === undefined ? 'Chromium is not installed (Debian: apt-get install chromium)' : false);

const require = createRequire(`${toolsFolder}package.json`);

export async function launch(): Promise<Browser> {
  const { chromium } = require('playwright-core');
  // Chromium's sandbox does not run as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: CHROMIUM, args });
}

/** Returns the accessibility violations that axe finds on the current page. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  const { AxeBuilder } = require('@axe-core/playwright');
  const { violations }: { violations: readonly Violation[] } = await new AxeBuilder({ page }).analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}
