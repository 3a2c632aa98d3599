# syntax=docker/dockerfile:1
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY console console
# Half of what packages are made of is for editors, debuggers and readers; licences stay.
RUN npm run build && npm prune --omit=dev \
  && find node_modules -type f \( -name '*.ts' -o -name '*.[cm]ts' -o -name '*.map' -o -name '*.md' \) ! -iname '*licen*' ! -iname '*notice*' -delete

FROM node:24-bookworm-slim
# New objects get as much room as in Node 20: the default of Node 24 takes 80 MB more of each process, and saves no CPU time.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 NODE_OPTIONS=--max-semi-space-size=16 WARM_UP_MS=300
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json ./
COPY jsonschema jsonschema
COPY prompts.json ./
COPY examples examples
COPY scripts/register.js scripts/
# Node keeps what it has compiled, for the user, version and flags that it ran with: one start fills the folder, and nobody may write to it
# afterwards, since Node runs what lies there.
ENV NODE_COMPILE_CACHE=/app/.compile-cache
RUN mkdir .compile-cache && chown node .compile-cache
USER node
RUN STORE_DIR=examples SESSION_STORE=memory HOST=127.0.0.1 PORT=0 DRAIN_DELAY_MS=0 timeout --preserve-status 15 node dist/main.js > /dev/null \
  && node --input-type=module -e "await import('./dist/store/redis-store.js')"
USER root
RUN chown -R root:root .compile-cache && chmod -R u=rwX,go=rX .compile-cache
# https://github.com/opencontainers/image-spec/blob/main/annotations.md
ARG VERSION=dev REVISION= CREATED= SOURCE=
LABEL org.opencontainers.image.title=ai-prompt-shell \
  org.opencontainers.image.description="Prompts as a service: publish them in Redis or a folder, render them over HTTP" \
  org.opencontainers.image.source=$SOURCE \
  org.opencontainers.image.documentation=$SOURCE/tree/main/docs \
  org.opencontainers.image.licenses=Apache-2.0 \
  org.opencontainers.image.version=$VERSION \
  org.opencontainers.image.revision=$REVISION \
  org.opencontainers.image.created=$CREATED \
  org.opencontainers.image.base.name=docker.io/library/node:24-bookworm-slim
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(reply => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
