# The command in a small image. The second line writes its run into the working folder, as the user who starts it:
#
#   docker build -t standoff .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" standoff fair
FROM rust:1.89-slim AS build
WORKDIR /src
COPY . .
RUN cargo install --locked --path crates/standoff-cli --root /out

FROM debian:stable-slim
RUN useradd --create-home standoff && install --directory --owner standoff /work
COPY --from=build /out/bin/standoff /usr/local/bin/standoff
USER standoff
# Bundled data is unpacked here: any user may write to it, also one without a home.
ENV XDG_CACHE_HOME=/tmp
WORKDIR /work
ENTRYPOINT ["standoff"]
