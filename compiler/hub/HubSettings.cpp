// SPDX-License-Identifier: Apache-2.0
// The one file that reads environment variables: those that other programs of a Hub read too.
#include "compiler/hub/HubSettings.h"

#include "compiler/checkpoint/files/File.h"

#include <algorithm>
#include <cstdlib>

using namespace ingot::checkpoint;
namespace fs = std::filesystem;

namespace ingot::hub {
namespace {

constexpr char kDefaultEndpoint[] = "https://huggingface.co";
constexpr uint64_t kMostOfToken = 4096;

/// Where distributions keep authorities: Debian and Alpine, RHEL, SUSE, BSDs and Alpine again.
constexpr const char *kCertificates[] = {"/etc/ssl/certs/ca-certificates.crt",
                                         "/etc/pki/tls/certs/ca-bundle.crt",
                                         "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                         "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::string firstOf(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (std::string value = variable(name); !value.empty())
      return value;
  return "";
}

/// HF_HOME, or what it is where it is not set.
fs::path homeOfHub() {
  if (std::string home = variable("HF_HOME"); !home.empty())
    return home;
  if (std::string caches = variable("XDG_CACHE_HOME"); caches.starts_with('/'))
    return fs::path(caches) / "huggingface";
  if (std::string home = variable("HOME"); home.starts_with('/'))
    return fs::path(home) / ".cache" / "huggingface";
  return {};
}

Expected<std::string> readToken(const fs::path &asked, const fs::path &home) {
  std::string token = asked.empty() ? variable("HF_TOKEN") : "";
  std::error_code error;
  const fs::path file = asked.empty() ? home / "token" : asked;
  if (token.empty() && (!asked.empty() || (!home.empty() && fs::exists(file, error)))) {
    auto text = readText(file, kMostOfToken);
    if (!text)
      return text.error();
    token = *std::move(text);
  }
  auto isBlank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!token.empty() && isBlank(token.back()))
    token.pop_back();
  token.erase(token.begin(), std::find_if_not(token.begin(), token.end(), isBlank));
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return Error{"INGOT-E7319", "the token of the Hub has characters that no header carries", "",
                 "copy it again to HF_TOKEN or the token's file"};
  return token;
}

} // namespace

Expected<HubSettings> HubSettings::read(const Asked &asked) {
  HubSettings settings;
  std::string endpoint = asked.endpoint.empty() ? variable("HF_ENDPOINT") : asked.endpoint;
  auto url = Url::parse(endpoint.empty() ? kDefaultEndpoint : endpoint);
  if (!url)
    return url.error();
  settings.endpoint = *std::move(url);
  if (settings.endpoint.target.find('?') != std::string::npos)
    return Error{"INGOT-E7303", "the endpoint of the Hub has a query", printable(endpoint),
                 "give the address alone"};
  settings.endpoint.target.erase(settings.endpoint.target.find_last_not_of('/') + 1);
  const fs::path home = homeOfHub();
  settings.cacheFolder =
      asked.cacheFolder.empty() && !home.empty() ? home / "hub" : asked.cacheFolder;
  if (settings.cacheFolder.empty())
    return Error{"INGOT-E7313", "neither HF_HOME, XDG_CACHE_HOME nor HOME names a folder", "",
                 "name one by --cache-dir"};
  auto token = readToken(asked.tokenFile, home);
  if (!token)
    return token.error();
  settings.token = *std::move(token);
  settings.proxy = firstOf({"HTTPS_PROXY", "https_proxy"});
  settings.noProxy = firstOf({"NO_PROXY", "no_proxy"});
  std::error_code error;
  settings.certificates = variable("SSL_CERT_FILE");
  if (!settings.certificates.empty() && !fs::is_regular_file(settings.certificates, error))
    return Error{"INGOT-E7318", "SSL_CERT_FILE names no file", settings.certificates.string(),
                 "correct it, or leave it out"};
  for (const char *file : kCertificates)
    if (settings.certificates.empty() && fs::is_regular_file(file, error))
      settings.certificates = file;
  return settings;
}

} // namespace ingot::hub
