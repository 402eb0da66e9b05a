import { readFileSync } from 'node:fs';

const { dependencies: hosts } = JSON.parse(
  readFileSync(new URL('../test/hosts/package.json', import.meta.url), 'utf8'),
);

export default {
  workspaces: {
    '.': {
      entry: [
        'src/server/docs/browser/page.ts',
        'examples/*.ts',
        'test/**/*.{test,proof}.ts',
        'test/**/*-process.ts',
        'test/promises/formats/support/write-formats.ts',
        'test/**/*.mjs',
        'test/openapi-tools/client.ts',
      ],
      project: ['src/**/*.ts', 'test/**/*.ts', 'examples/**/*.ts'],
      // npm installs the packages of test/hosts beside those of the project. No file imports rxjs,
      // which NestJS needs.
      ignoreDependencies: [
        ...Object.keys(hosts).filter((name) => name !== 'rxjs' && !name.endsWith('-lowest')),
        'c8',
        '@axe-core/playwright',
        'miniflare',
        'openapi-fetch',
        'playwright-core',
      ],
    },
    'test/hosts': { ignoreDependencies: [/./] },
    bench: {
      entry: ['servers/**/*.{ts,mjs}', '**/*-process.ts'],
      project: ['**/*.{ts,mjs}'],
    },
  },
  ignoreBinaries: ['fsfreeze', 'mkfifo', 'script', 'strace', 'systemd-analyze', 'taskset', 'unshare'],
};
