// Webhook answers the API server's questions about crates: may one be created (/validate), and what is one in another version
// (/convert)? crates.yaml and webhook.yaml say that the API server asks them here.
//
// Whoever reaches the address can ask. In a cluster, a webhook wants the API server's certificate, too.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"example.com/client-go-workbook/internal/program"
)

const (
	address = "127.0.0.1:9443"
	name    = "crates.example.com"       // of the CRD and of the webhook's configuration
	color   = "crates.example.com/color" // an annotation: v1 has no field for it
	allowed = 10                         // size of all crates of a namespace
)

var crates = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crates"}

func main() {
	p := program.New("webhook")
	p.Writes()
	p.Run(func(ctx context.Context, config *rest.Config) error {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		return serve(ctx, client, p.Out)
	})
}

// serve answers until ctx ends.
func serve(ctx context.Context, client dynamic.Interface, out *program.Printer) error {
	// A certificate and its authority. Each process has new ones, which are good for a year.
	authority, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(authority, key)
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})
	if err != nil {
		return err
	}
	if err := trust(ctx, client, authority); err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /validate", answer(func(ctx context.Context, review *admissionv1.AdmissionReview) error {
		return validate(ctx, client, review)
	}))
	mux.HandleFunc("POST /convert", answer(func(_ context.Context, review *apiextensionsv1.ConversionReview) error {
		return convertAll(review)
	}))
	// At first the API server may not know the certificate yet, and breaks off: a log would have a line for each time.
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		// Who has asked already gets an answer.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		ended <- server.Shutdown(late)
	})
	out.Line("SERVING", "https://%s", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// trust tells the API server which authority the certificate has.
func trust(ctx context.Context, client dynamic.Interface, authority []byte) error {
	crds := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	webhooks := schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations",
	}
	for resource, path := range map[schema.GroupVersionResource]string{
		crds:     "/spec/conversion/webhook/clientConfig/caBundle",
		webhooks: "/webhooks/0/clientConfig/caBundle",
	} {
		patch, err := json.Marshal([]map[string]any{{"op": "add", "path": path, "value": authority}})
		if err != nil {
			return err
		}
		if _, err := client.Resource(resource).Patch(ctx, name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// answer decodes a review, and sends it back with an answer, which f puts into it.
func answer[R any](f func(context.Context, *R) error) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		review := new(R)
		err := json.NewDecoder(request.Body).Decode(review)
		if err == nil {
			err = f(request.Context(), review)
		}
		if err != nil { // no answer: failurePolicy decides
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // the API server has given up
	}
}

var errNoRequest = errors.New("the review has no request")

// validate denies a crate if those of the namespace would be too large together: no rule of a CRD sees other objects.
//
// Two that are created at the same moment do not see each other. A webhook is no lock.
func validate(ctx context.Context, client dynamic.Interface, review *admissionv1.AdmissionReview) error {
	request := review.Request
	if request == nil {
		return errNoRequest
	}
	crate := &unstructured.Unstructured{}
	if err := json.Unmarshal(request.Object.Raw, crate); err != nil {
		return err
	}
	list, err := client.Resource(crates).Namespace(request.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var sum int64
	for _, crate := range append(list.Items, *crate) {
		size, _, err := unstructured.NestedInt64(crate.Object, "spec", "size")
		if err != nil {
			return err
		}
		sum += size
	}
	review.Request, review.Response = nil, &admissionv1.AdmissionResponse{UID: request.UID, Allowed: sum <= allowed}
	if sum > allowed {
		review.Response.Result = &metav1.Status{
			Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: fmt.Sprintf("the crates of namespace %s would have size %d together: more than %d", request.Namespace, sum, allowed),
		}
	}
	return nil
}

// convertAll converts all crates of a review, or none.
func convertAll(review *apiextensionsv1.ConversionReview) error {
	request := review.Request
	if request == nil {
		return errNoRequest
	}
	response := &apiextensionsv1.ConversionResponse{UID: request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, object := range request.Objects {
		converted, err := convert(object.Raw, request.DesiredAPIVersion)
		if err != nil {
			return err
		}
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: converted})
	}
	review.Request, review.Response = nil, response
	return nil
}

// convert returns a crate in another version. Nothing is lost on the way there and back: what v1 has no field for is in an annotation.
// In metadata, only labels and annotations may change.
func convert(raw []byte, version string) (*unstructured.Unstructured, error) {
	crate := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, crate); err != nil {
		return nil, err
	}
	spec, _, err := unstructured.NestedMap(crate.Object, "spec")
	if err != nil {
		return nil, err
	}
	if spec == nil {
		spec = map[string]any{}
	}
	annotations := crate.GetAnnotations()
	switch version {
	case "example.com/v1":
		if size, ok := spec["capacity"]; ok {
			spec["size"] = size
		}
		if text, ok := spec["color"].(string); ok {
			crate.SetAnnotations(labels.Merge(annotations, labels.Set{color: text}))
		}
		delete(spec, "capacity")
		delete(spec, "color")
	case "example.com/v2":
		if capacity, ok := spec["size"]; ok {
			spec["capacity"] = capacity
		}
		if text, ok := annotations[color]; ok {
			spec["color"] = text
			if delete(annotations, color); len(annotations) == 0 {
				annotations = nil // as if there had never been one
			}
			crate.SetAnnotations(annotations)
		}
		delete(spec, "size")
	default:
		return nil, fmt.Errorf("version %s is not known", version)
	}
	crate.SetAPIVersion(version)
	delete(crate.Object, "spec")
	if len(spec) > 0 {
		crate.Object["spec"] = spec
	}
	return crate, nil
}
