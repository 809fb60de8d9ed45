# One image for each program, all from the same build:
#   docker build --target api .      (or worker, sandbox, cli)
# Debian, not Alpine: Temporal's native part has no musl build.
FROM node:24.21.0-bookworm-slim AS base
RUN npm install --global pnpm@12.21.0
WORKDIR /app
# Manifests first: the installs below are repeated only when one of them changes.
COPY package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY patches patches
COPY packages/browser/package.json packages/browser/
COPY packages/domain/package.json packages/domain/
COPY packages/packaging/package.json packages/packaging/
COPY packages/payments-client/package.json packages/payments-client/
COPY packages/sdk/package.json packages/sdk/
COPY packages/telemetry/package.json packages/telemetry/
COPY packages/temporal/package.json packages/temporal/
COPY packages/workflows/package.json packages/workflows/
COPY apps/api/package.json apps/api/
COPY apps/cli/package.json apps/cli/
COPY apps/counter/package.json apps/counter/
COPY apps/sandbox/package.json apps/sandbox/
COPY apps/worker/package.json apps/worker/
COPY simulation/package.json simulation/
COPY test/package.json test/
COPY bench/package.json bench/
COPY tools/package.json tools/

FROM base AS build
RUN pnpm install --frozen-lockfile
COPY tsconfig.base.json ./
COPY packages packages
COPY apps apps
RUN node_modules/.bin/tsc -b apps/api apps/cli apps/sandbox apps/worker \
 && node apps/counter/dist/build.js \
 && node apps/worker/dist/bundle.js

FROM base AS production
RUN pnpm install --frozen-lockfile --prod \
      --filter @tillflow/api... --filter @tillflow/cli... --filter @tillflow/sandbox... --filter @tillflow/worker...
COPY --from=build /app/packages/domain/dist packages/domain/dist
COPY --from=build /app/packages/payments-client/dist packages/payments-client/dist
COPY --from=build /app/packages/telemetry/dist packages/telemetry/dist
COPY --from=build /app/packages/temporal/dist packages/temporal/dist
COPY --from=build /app/packages/workflows/dist packages/workflows/dist
COPY --from=build /app/apps/api/dist apps/api/dist
COPY --from=build /app/apps/cli/dist apps/cli/dist
COPY --from=build /app/apps/counter/dist apps/counter/dist
COPY --from=build /app/apps/sandbox/dist apps/sandbox/dist
COPY --from=build /app/apps/worker/dist apps/worker/dist

FROM node:24.21.0-bookworm-slim AS runtime
# For TLS to Temporal Cloud; the slim image has no root certificates outside Node.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/*
# Room for 32 MB of young objects: the worker and the API collect garbage less often (docs/bench.md, "pnpm bench compare").
ENV NODE_ENV=production NODE_OPTIONS="--enable-source-maps --max-semi-space-size=32"
WORKDIR /app
# Owned by root: the programs cannot change themselves.
COPY --from=production /app ./
USER node

FROM runtime AS worker
CMD ["node", "apps/worker/dist/main.js"]

FROM runtime AS sandbox
ENV SANDBOX_HOST=0.0.0.0
EXPOSE 4010
CMD ["node", "apps/sandbox/dist/main.js"]

# docker run --rm <image> setup
FROM runtime AS cli
ENTRYPOINT ["node", "apps/cli/dist/main.js"]
CMD ["--help"]

# Last, and so the default.
FROM runtime AS api
ENV HOST=0.0.0.0
EXPOSE 3000
CMD ["node", "apps/api/dist/main.js"]
